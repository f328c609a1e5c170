/* The search runs in a worker. A page that was opened from a file may not start one, so a frame takes its place.
   The name is what the plugin `offline` looks for, before it adds a script of another host. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = this.inside.document.createElement("script")
      script.src = new URL(address, location)
      this.ready = new Promise(done => script.addEventListener("load", done))
      this.inside.document.body.append(script)
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
