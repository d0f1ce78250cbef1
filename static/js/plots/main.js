// Drawings of many runs: parallel coordinates, scatter plots and the history of the best. All
// drawings of a section read the same columns, and a choice in one shows in the others.
import { parallel } from "./parallel.js";
import { points } from "./points.js";
import { fillTable, saveDrawing } from "./draw.js";
import { linked, remember } from "./link.js";
import { pointAt, pointedRun, watchRun } from "../pointed.js";

const kinds = [["[data-parallel]", parallel], ["[data-points]", points]];
const views = new Map(); // section → view

export function setUp() {
  for (const root of document.querySelectorAll("[data-plots]:not([data-ready])")) {
    root.dataset.ready = "";
    begin(root);
  }
  for (const [root, view] of views) {
    if (!root.isConnected) views.delete(root);
    else if (view.version !== versionOf(root)) read(view);
  }
}

watchRun(() => { for (const view of views.values()) if (view.frame) pointed(view); });
document.addEventListener("theme", () => { for (const view of views.values()) if (view.frame) draw(view); });

// The version of the data is in an element that the stream replaces.
const versionOf = (root) => root.dataset.versionOf ? document.querySelector(root.dataset.versionOf)?.dataset.version ?? "" : root.dataset.frame ?? "";

function begin(root) {
  const view = { root, frame: null, filters: new Map(), link: null, chosen: [], pointed: null, parts: [], version: null };
  views.set(root, view);
  view.link = linked();
  view.filters = view.link.filters;
  view.remember = () => remember(view);
  view.change = () => {
    choose(view);
    remember(view);
    for (const part of view.parts) part.choose();
    for (const details of root.querySelectorAll("[data-values][open]")) table(view, details);
  };
  view.point = (row) => pointAt(row == null ? null : view.frame.ids[row]);
  root.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-color]")) return;
    view.link.color = target.value;
    remember(view);
    draw(view);
  });
  for (const [selector, part] of kinds) for (const figure of root.querySelectorAll(selector)) view.parts.push(part(view, figure));
  root.addEventListener("toggle", (event) => event.target.matches("[data-values]") && event.target.open && view.frame && table(view, event.target), true);
  root.addEventListener("click", (event) => {
    const kind = event.target.closest("[data-save]")?.dataset.save;
    const figure = event.target.closest("figure"), drawing = figure?.querySelector("[data-plot] > svg");
    if (kind && drawing) saveDrawing(kind, figure.dataset.name, drawing, root.dataset.plotsName);
  });
  let width = root.clientWidth;
  new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    if (view.frame) draw(view);
  }).observe(root);
  read(view);
}

async function read(view) {
  view.version = versionOf(view.root);
  try {
    const text = view.root.dataset.frame ?? await fetched(view.root.dataset.plots);
    if (text === view.text) return;
    view.text = text;
    view.frame = JSON.parse(text);
    view.rows = new Map(view.frame.ids.map((id, row) => [id, row]));
    view.pointed = view.rows.get(pointedRun()) ?? null;
    choose(view);
    draw(view);
  } catch {
    if (!view.frame) for (const plot of view.root.querySelectorAll("[data-plot]")) plot.textContent = "The values cannot be read right now. Reload the page to try again.";
  }
  for (const plot of view.root.querySelectorAll("[data-plot]")) plot.removeAttribute("aria-busy");
}

async function fetched(url) {
  const response = await fetch(url, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(response.status);
  return response.text();
}

// pointed highlights the run that the reader points at, here or in a table.
function pointed(view) {
  const row = view.rows.get(pointedRun()) ?? null;
  if (view.pointed === row) return;
  view.pointed = row;
  for (const part of view.parts) part.point();
}

// The most runs that have their own colors unless the reader chooses. Of more, the drawings show the ranks.
const fewRuns = 12;

function draw(view) {
  const { frame, link, root } = view;
  const ranked = frame.columns[frame.objective] != null;
  view.byRun = !ranked || (link.color ? link.color === "run" : frame.ids.length <= fewRuns);
  for (const choice of root.querySelectorAll("[data-color]")) choice.checked = (choice.value === "run") === view.byRun;
  for (const key of root.querySelectorAll("[data-rank-key]")) key.hidden = view.byRun;
  for (const part of view.parts) part.draw();
  for (const details of view.root.querySelectorAll("[data-values][open]")) table(view, details);
}

// choose finds the rows within all ranges that the reader has set.
function choose(view) {
  const { frame, filters } = view;
  const ranges = frame.columns.flatMap((column) => filters.has(column.name) ? [[column.values, ...filters.get(column.name)]] : []);
  view.chosen = frame.ids.map((_, row) => ranges.every(([values, low, high]) => values[row] != null && values[row] >= low && values[row] <= high));
}

// table writes the values of one drawing.
function table(view, details) {
  const part = view.parts.find((part) => part.figure.contains(details));
  const rows = view.frame.ids.map((_, row) => row).filter((row) => view.chosen[row]);
  fillTable(details, view.frame, part.columns(), rows);
}
