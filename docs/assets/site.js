/* A table that is wider than the page scrolls within itself: the keyboard has to reach it. */
function reach() {
  for (const one of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0
    else one.removeAttribute("tabindex")
  }
}
addEventListener("load", reach)
addEventListener("resize", reach)

/* The theme puts the button that copies a block into a landmark of its own, one for each block, all alike. */
new MutationObserver(() => {
  for (const one of document.querySelectorAll("nav.md-code__nav")) one.role = "none"
}).observe(document.body, { childList: true, subtree: true })
