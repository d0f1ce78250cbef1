// Keyboard shortcuts. Users can turn off single-key shortcuts (WCAG 2.1.4): the server
// then sets data-keys on the root element. Ctrl K stays.
import { openDialog } from "./dialogs.js";

const places = { h: "/", e: "/executions", w: "/workflows", a: "/artifacts", t: "/types", c: "/compare", i: "/inbox" };

export function setUpKeys() {
  let leader = -Infinity; // when g was pressed, in the time of events
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openDialog(document.getElementById("palette"));
      return;
    }
    if (!singleKeys(event)) return;
    if (event.timeStamp - leader < 1200) {
      leader = -Infinity;
      if (places[event.key]) location.assign(places[event.key]);
      return;
    }
    if (event.key === "g") leader = event.timeStamp;
    else act(event);
  });
}

function singleKeys(event) {
  if (document.documentElement.dataset.keys === "off") return false;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
  if (document.querySelector("dialog[open]")) return false;
  return !event.target.closest("input, select, textarea, [contenteditable], [role=combobox]");
}

function act(event) {
  if (event.key === "?") openDialog(document.getElementById("keys"));
  if (event.key === "l") document.querySelector("[data-key=launch]")?.click();
  if (event.key === "d") document.querySelector("[data-key=differences]")?.click();
  if (event.key === "j") walk(1);
  if (event.key === "k") walk(-1);
  if (event.key === "x") document.activeElement.closest("tr")?.querySelector("input[name=id]")?.click();
  if (event.key === "r") rename(event);
  if (event.key === "/") {
    const filter = document.querySelector("main input[type=search], main .query-input");
    if (filter) {
      event.preventDefault();
      filter.focus();
    }
  }
}

// rename edits the name in the row with the focus, or that of the page.
function rename(event) {
  const row = document.activeElement.closest("tr");
  const link = (row ?? document.querySelector("main .page-head"))?.querySelector("[data-label=name]");
  if (!link) return;
  event.preventDefault(); // the key is no text
  link.click();
}

// walk moves the focus through the rows of the first list on the page.
function walk(step) {
  const rows = [...document.querySelectorAll("main .cover")].filter((row) => row.checkVisibility());
  const at = rows.indexOf(document.activeElement);
  const to = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
  rows[Math.min(Math.max(to, 0), rows.length - 1)]?.focus();
}
