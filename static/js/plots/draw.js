// Elements that the drawings of runs share: SVG, tables, and the file of a drawing.
import { labelOf, textOf } from "./scale.js";
import { save } from "../chartfile.js";

const ns = "http://www.w3.org/2000/svg";

// svg returns an element of a drawing. Numbers are rounded to a tenth of a pixel.
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(ns, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value != null) element.setAttribute(key, typeof value === "number" ? Math.round(value * 10) / 10 : value);
  }
  element.append(...children);
  return element;
}

// html returns an element of the page.
export function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value != null && value !== false) element.setAttribute(key, value === true ? "" : value);
  element.append(...children);
  return element;
}

// mark is the class of the color of a run.
export const mark = (frame, row) => `m${frame.colors[row] + 1}`;

// swatch is the line of a run, as tables and other charts show it.
export function swatch(frame, row) {
  const line = svg("path", { class: `line s${frame.colors[row] + 1} d${frame.dashes[row]}`, d: "M0 6h22" });
  return svg("svg", { class: "swatch", viewBox: "0 0 22 12", "aria-hidden": "true" }, line);
}

const pageSize = 100;

// fillTable writes rows of a frame as a table, 100 at a time.
export function fillTable(details, frame, columns, rows) {
  details.querySelector("[data-table]")?.remove();
  const body = html("tbody");
  const heads = columns.map((c) => html("th", { scope: "col", class: c.categories ? null : "num" }, labelOf(c)));
  const table = html("table", { class: "table" }, html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Run"), html("th", { scope: "col" }, "State"), ...heads)), body);
  const box = html("div", { class: "table-wrap plot-table", tabindex: "0", role: "region", "aria-label": "Values of the chart", "data-table": true }, table);
  const more = html("button", { class: "btn btn-s", type: "button" });
  let shown = 0;
  const add = () => {
    for (const row of rows.slice(shown, shown + pageSize)) {
      const cells = columns.map((c) => html("td", { class: c.categories ? null : "num" }, textOf(c, c.values[row])));
      const link = html("a", { href: frame.urls + frame.ids[row] }, frame.names[row]);
      body.append(html("tr", { "data-run": frame.ids[row] }, html("th", { scope: "row" }, html("span", { class: "chart-key" }, swatch(frame, row), link)), html("td", {}, stateText(frame, row)), ...cells));
    }
    shown = Math.min(rows.length, shown + pageSize);
    more.textContent = `Show more: ${(rows.length - shown).toLocaleString("en-US")} rows`;
    if (shown === rows.length) more.remove();
  };
  more.addEventListener("click", add);
  box.append(more);
  add();
  details.append(box);
}

const words = {
  SUCCEEDED: "Succeeded", RUNNING: "Running", PENDING: "Pending", FAILED: "Failed", CANCELLED: "Cancelled", PAUSED: "Paused",
  PROPOSED: "Not started", STOPPED_EARLY: "Stopped early", REFUSED: "Not launched",
};

// stateText is the outcome of a run.
export function stateText(frame, row) {
  const word = words[frame.states[row]] ?? frame.states[row];
  return row === frame.best ? `Best, ${word.toLowerCase()}` : word;
}

const painted = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "text-anchor", "paint-order"];

// saveDrawing downloads a drawing as SVG or PNG, with the colours of the page.
export function saveDrawing(kind, name, drawing, note) {
  const { width, height } = drawing.viewBox.baseVal;
  const copy = drawing.cloneNode(true);
  const from = drawing.querySelectorAll("*"), to = copy.querySelectorAll("*");
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const property of painted) {
      const value = style.getPropertyValue(property);
      if (value) to[i].setAttribute(property, property === "fill" || property === "stroke" ? plain(value) : value);
    }
    to[i].removeAttribute("class");
  });
  for (const control of copy.querySelectorAll("[data-control]")) control.remove();
  const page = getComputedStyle(drawing.closest(".card") ?? document.body);
  const top = 32;
  const text = `<svg xmlns="${ns}" width="${width}" height="${height + top}" font-family="Inter, sans-serif"><rect width="100%" height="100%" fill="${plain(page.backgroundColor)}"/>` +
    `<text x="8" y="21" font-size="13" font-weight="600" fill="${plain(page.color)}">${escaped(note ? `${name}, ${note}` : name)}</text><g transform="translate(0 ${top})">${copy.innerHTML}</g></svg>`;
  return save(kind, name, { width, height: height + top, text });
}

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

let canvas;

// plain is a colour that every program for SVG understands.
function plain(value) {
  if (value === "none") return value;
  canvas ??= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = value;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return a === 255 ? `rgb(${r},${g},${b})` : `rgba(${r},${g},${b},${(a / 255).toFixed(3)})`;
}
