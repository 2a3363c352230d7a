// Keyboard, the time slider, and the note that something changed. Every page works without this file.
"use strict";

(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const typing = (target) => target.closest("input:not([type=range]), textarea, select, [contenteditable]");
  let place = -1;

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const current = all.findIndex((row) => row.classList.contains("current"));
    place = Math.min(Math.max((current < 0 ? -1 : current) + step, 0), all.length - 1);
    all.forEach((row, index) => row.classList.toggle("current", index === place));
    const link = all[place].querySelector("a");
    (link || all[place]).focus({ preventScroll: true });
    all[place].scrollIntoView({ block: "nearest" });
  }

  function follow(selector) {
    const link = document.querySelector(selector);
    if (link) link.click();
  }

  const help = () => document.getElementById("help").showModal();
  const keys = {
    "/": () => document.querySelector("[type=search]")?.focus(),
    "?": help,
    j: () => move(1),
    k: () => move(-1),
    n: () => follow("a[rel=next]"),
    p: () => follow("a[rel=prev]"),
    g: () => { location.href = "/"; },
    r: () => location.reload(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") { document.activeElement?.blur(); return; }
    if (typing(event.target)) return;
    const action = keys[event.key];
    if (action) { event.preventDefault(); action(); }
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help]")) help();
    const open = document.querySelector("details.switch[open]");
    if (open && !event.target.closest("details.switch")) open.open = false;
  });

  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-slider]")) return;
    const text = event.target.form.querySelector("[data-slider-text]");
    text.textContent = new Date(Number(event.target.value)).toISOString().slice(0, 19).replace("T", " ");
  });

  document.querySelectorAll("[data-help]").forEach((button) => { button.hidden = false; });
  document.body.addEventListener("htmx:sseOpen", () => { document.body.dataset.live = "open"; });
  document.body.addEventListener("htmx:sseMessage", (event) => {
    if (event.detail.type !== "changed") return;
    document.querySelectorAll("[data-changed]").forEach((link) => { link.hidden = false; });
  });
})();
