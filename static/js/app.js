// The behaviour that all pages share. Pages work without it: it adds only what HTML
// cannot do. Modules that few pages need are imported on demand.
import { setUpDialogs } from "./dialogs.js";
import { setUpTheme } from "./theme.js";
import { setUpKeys } from "./keys.js";
import { setUpCopy } from "./copy.js";
import { setUpLive } from "./live.js";
import { setUpInbox } from "./inbox.js";

document.documentElement.dataset.script = "on";
setUpDialogs();
setUpTheme();
setUpKeys();
setUpCopy();
setUpLive();
setUpInbox();
rememberZone();
showCurrentTabs();
document.addEventListener("submit", (event) => event.target.id === "sign-out" && sessionStorage.clear());

const parts = [
  ["[data-log]", "./logs.js"],
  [".dag", "./graph.js"],
  ["[data-charts]", "./charts.js"],
  ["[data-compare]", "./compare.js"],
  ["[data-overlay]", "./overlay.js"],
  ["[data-zoom]", "./zoom.js"],
  ["[data-gallery]", "./gallery.js"],
  ["[data-grid]", "./nodegrid.js"],
  ["[data-complete]", "./query.js"],
  ["[data-run-table]", "./runtable.js"],
  ["[data-select-all]", "./selection.js"],
  ["[data-run-charts]", "./runcharts.js"],
  ["[data-editor]", "./labels.js"],
  ["[data-brush]", "./facets.js"],
  ["[data-plots]", "./plots/main.js"],
  ["[data-renderer]", "./renderers.js"],
  ["[data-report]", "./reports.js"],
  ["[data-launch], [data-rules], .list-editor, [data-slider], [data-combo]", "./forms/main.js"],
];

// A module that cannot be fetched is imported again with the next update of the page.
function loadParts() {
  for (const [selector, module] of parts) {
    if (document.querySelector(selector)) import(module).then((part) => part.setUp(), unfetched);
  }
}
function unfetched(error) { console.warn(error); }
loadParts();
document.addEventListener("htmx:after:swap", loadParts);

// A row of tabs that is wider than the page starts at the current tab.
function showCurrentTabs() {
  for (const tab of document.querySelectorAll(".tabs > [aria-current]")) {
    const row = tab.parentElement, middle = (box) => box.left + box.width / 2;
    row.scrollLeft += middle(tab.getBoundingClientRect()) - middle(row.getBoundingClientRect());
  }
}

// The server formats times in the user's time zone, which it reads from this cookie.
function rememberZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `zone=${encodeURIComponent(zone)};path=/;max-age=31536000;samesite=lax`;
}
