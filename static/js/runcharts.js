// The charts beside the table of executions draw the selected rows, or all rows, without those that
// the reader hides. The address has the metrics and the hidden executions; the selection is not kept.
import { show } from "./compare.js";
import { keepInLinks } from "./address.js";
import { announce, showPage } from "./runpage.js";

const kept = ["hide", "smooth", "scale", "xscale", "outliers"]; // what the address has since the server wrote the page
let ready = false;

export function setUp() {
  if (!ready) {
    ready = true;
    document.addEventListener("click", onClick);
    document.addEventListener("change", onChange);
    document.addEventListener("input", onSearch);
    document.addEventListener("keydown", (event) => event.key === "Escape" && close(event.target.closest?.(".metric-choice"), true));
    document.addEventListener("runpage", update);
    keepInLinks((from) => from.closest("#run-page") && !from.closest(".view-bar") && panel(), kept);
  }
  update();
}

const panel = () => document.querySelector("[data-run-charts]");
const rows = () => [...document.querySelectorAll("[data-run-table] tr[data-run]")];
const end = (id) => id.slice(-6);
const hidden = () => new Set((new URLSearchParams(location.search).get("hide") ?? "").split(",").filter(Boolean));

// remember writes the hidden executions into the address.
function remember(ends) {
  const url = new URL(location.href);
  if (ends.size) url.searchParams.set("hide", [...ends].join(","));
  else url.searchParams.delete("hide");
  history.replaceState(history.state, "", url);
}

// update draws what is selected and not hidden. A row that the server sent again gets its state back.
function update() {
  const charts = panel();
  if (!charts || "grouped" in charts.dataset) return;
  const off = hidden(), all = rows();
  for (const row of all) {
    const unseen = off.has(end(row.dataset.run));
    row.querySelector("[data-eye]").setAttribute("aria-pressed", String(!unseen));
    row.toggleAttribute("data-unseen", unseen);
  }
  const selected = all.filter((row) => row.querySelector("input[name=id]").checked);
  const drawn = new Set((selected.length ? selected : all).map((row) => row.dataset.run).filter((id) => !off.has(end(id))));
  const unseen = all.filter((row) => row.hasAttribute("data-unseen")).length;
  const text = message(all.length, selected.length, unseen);
  const status = charts.querySelector("[data-drawn]");
  if (status.textContent !== text) status.textContent = text;
  charts.querySelector("[data-show-all]").hidden = !unseen;
  const state = [...drawn].join();
  if (charts.drawn === state) return;
  charts.drawn = state;
  show(charts, (id) => drawn.has(id));
}

function message(all, selected, unseen) {
  const of = selected ? `${selected} selected of ${all} executions` : all === 1 ? "1 execution" : `${all} executions`;
  return unseen ? `${of}, ${unseen} hidden` : of;
}

// close closes the list of metrics.
function close(list, focus) {
  if (!list?.open) return;
  list.open = false;
  if (focus) list.querySelector("summary").focus();
}

function onClick(event) {
  const list = document.querySelector(".metric-choice[open]");
  if (list && !list.contains(event.target) && event.target.isConnected) close(list);
  const eye = event.target.closest?.("[data-eye]");
  if (eye) {
    const off = hidden(), id = end(eye.closest("tr").dataset.run);
    if (!off.delete(id)) off.add(id);
    remember(off);
    update();
  }
  if (event.target.closest?.("[data-show-all]")) {
    remember(new Set());
    update();
    panel().querySelector(".metric-choice > summary").focus();
  }
}

function onChange(event) {
  if (event.target.matches("[data-run-table] tbody input[name=id]")) update();
  const form = event.target.closest("[data-metrics]");
  if (form && event.target.name === "chart") choose(form, event.target);
}

// choose shows the charts of the chosen metrics in place.
async function choose(form, box) {
  const url = new URL(form.action), { value, checked } = box;
  const search = form.querySelector("[data-metric-search]")?.value;
  url.search = new URLSearchParams(new FormData(form));
  const here = new URLSearchParams(location.search);
  for (const key of kept) {
    if (here.get(key)) url.searchParams.set(key, here.get(key));
    else url.searchParams.delete(key);
  }
  const now = await showPage(url);
  if (!now) return;
  const again = now.querySelector("[data-metrics]");
  const field = again?.querySelector("[data-metric-search]");
  if (field && search) {
    field.value = search;
    filter(field);
  }
  [...again?.elements.chart instanceof RadioNodeList ? again.elements.chart : [again?.elements.chart]].find((other) => other?.value === value)?.focus();
  announce(`${value}: ${checked ? "chart added" : "chart removed"}`);
}

function onSearch(event) {
  if (event.target.matches("[data-metric-search]")) filter(event.target);
}

function filter(field) {
  const text = field.value.trim().toLowerCase();
  for (const label of field.form.querySelectorAll("label:has([name=chart])")) label.hidden = !label.textContent.toLowerCase().includes(text);
}
