
"use strict";
// Shows and hides what the page holds. Makes no markup, loads nothing, and keeps nothing.
(() => {
  const form = document.getElementById("controls");
  if (!form) return;
  const find = document.getElementById("find");
  const every = document.getElementById("all");
  const shown = document.getElementById("shown");
  const boxes = [...form.querySelectorAll("input[name=part]")];
  const selects = [...form.querySelectorAll("select")];
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work));
  const number = (value) => value.toLocaleString("en");
  const texts = (within, tag) => Array.from(within.getElementsByTagName(tag), (one) => one.textContent);
  let lists = null;
  // Lists whose entries are still to be shown or hidden. Those in sight, and the first ones, are settled at once,
  // the others when the browser has nothing to do: to change 10,000 entries takes longer than typing a letter.
  const late = new Set();
  const atOnce = 300;  // entries that are shown, of the first lists: more than several screens

  // Each section with its lists, and of every entry what it is found by. Read once: 10,000 entries take a moment.
  function index() {
    lists ??= Array.from(document.querySelectorAll("section.list"), (section) => ({
      section,
      count: section.querySelector("h2 span"),
      shown: -1,
      lists: Array.from(section.querySelectorAll("ul"), (list) => {
        const one = {list, shown: list.children.length, far: true, entries: Array.from(list.children, entry)};
        const edge = list.getBoundingClientRect();
        one.far = edge.bottom < -innerHeight || edge.top > 2 * innerHeight;
        list.addEventListener("contentvisibilityautostatechange", (event) => {
          one.far = event.skipped;
          if (!one.far) settle(one);
        });
        return one;
      }),
    }));
    return lists;
  }

  function settle(one) {
    for (const each of one.entries) {
      if (each.fits !== each.shown) each.item.classList.toggle("x", !(each.shown = each.fits));
    }
    late.delete(one);
  }

  function settleLate(deadline) {
    for (const one of late) {
      if (deadline && deadline.timeRemaining() < 4) break;
      settle(one);
    }
    if (late.size) idle(settleLate);
  }

  function entry(item) {
    const heading = item.firstElementChild.textContent;
    const [kind, workspace] = heading.split("/");
    return {
      item, kind, workspace, file: heading.replace(/(:\d+){0,2}$/, ""), shown: true, fits: true, text: item.textContent.toLowerCase(),
      cause: texts(item, "i"), result: texts(item, "em"),
    };
  }

  function filter() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = selects.filter((one) => one.value).map((one) => [one.name, one.value]);
    const hidden = new Set(boxes.filter((one) => !one.checked).map((one) => one.value));
    const fits = (one) => words.every((word) => one.text.includes(word)) &&
      wanted.every(([name, value]) => Array.isArray(one[name]) ? one[name].includes(value) : one[name] === value);
    let all = 0, seen = 0;
    for (const part of index()) {
      let here = 0, total = 0;
      const off = hidden.has(part.section.id);
      for (const list of part.lists) {
        let left = 0;
        for (const one of list.entries) {
          one.fits = !off && fits(one);
          left += one.fits;
        }
        if (left !== list.shown) {
          list.list.classList.toggle("x", !left);
          list.list.style.containIntrinsicSize = `auto ${left * 90}px`;
          list.shown = left;
        }
        if (!left) late.delete(list);
        else if (list.far && seen + here > atOnce) late.add(list);
        else settle(list);
        here += left;
        total += list.entries.length;
      }
      if (here !== part.shown) {
        part.section.classList.toggle("x", !here);
        part.count.textContent = here === total ? number(total) : `${number(here)} of ${number(total)}`;
        part.shown = here;
      }
      all += total;
      seen += here;
    }
    shown.textContent = `${number(seen)} of ${number(all)}`;
    if (late.size) idle(settleLate);
  }

  const details = () => document.querySelectorAll("main details");
  let before = null;
  form.addEventListener("input", (event) => {
    if (event.target !== every) return filter();
    before ??= new Map(Array.from(details(), (one) => [one, one.open]));
    for (const [one, open] of before) one.open = every.checked || open;
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => {
    filter();
    every?.dispatchEvent(new Event("input", {bubbles: true}));
  }));
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      find.focus();
    }
    if (event.key === "Escape" && document.activeElement === find && find.value) {
      find.value = "";
      filter();
    }
  });
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = Array.from(details()).filter((one) => !one.open);
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
  form.hidden = false;
  // The first search is as quick as the others: what is searched is laid out in memory before somebody types.
  idle(() => index().forEach((part) => part.lists.forEach((list) => list.entries.some((one) => one.text.includes("\0")))));
})();
