// Curves of several executions: reads the points of each metric when its chart comes into
// view, draws them with uPlot, and saves charts as SVG or PNG.
import { barsOf, scrolls, singles } from "./chartbars.js";
import { svgOf, save } from "./chartfile.js";
import { tableOf } from "./charttable.js";
import { options, remember, wholeSteps, xScale, yScale } from "./curveoptions.js";
import { positionText, showSmoothing, valueText, xValues } from "./charttext.js";
import { pointAt, pointedRun, watchRun } from "./pointed.js";

let uPlot, library;
const charts = new Map(); // figure → { frame, lines, plot or bars, text }
const few = 6; // curves that a chart draws with strong lines, each with its value in the legend
const listed = 40; // curves in a legend
const dashes = [[], [7, 3], [2, 3], [10, 3, 2, 3], [1, 4], [12, 4]];
const missing = "Earlier values are not available right now.";
const palette = new Map(); // resolved colors of the latest drawing
const shown = new WeakMap(); // section → whether it draws the curves of an execution

export function setUp() {
  const sections = document.querySelectorAll("[data-compare]:not([data-ready])");
  for (const section of sections) section.dataset.ready = "";
  if (sections.length) library ??= import("../vendor/uplot.js"); // while the first curves are read
  for (const section of sections) open(section);
}

function open(section) {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      load(target);
    }
  }, { rootMargin: "400px" });
  for (const figure of section.querySelectorAll("figure[data-curves]")) seen.observe(figure);
  const controls = section.querySelector("[data-compare-controls]");
  controls?.addEventListener("input", (event) => {
    if (event.target.matches("[data-submit]")) return controls.requestSubmit();
    remember(controls);
    showSmoothing(controls);
    redraw();
  });
  section.addEventListener("click", pressed);
  section.addEventListener("toggle", (event) => event.target.matches("[data-values]") && fillTable(event.target), true);
  new ResizeObserver(resize).observe(section);
  follow(section);
}

document.addEventListener("theme", redraw);
document.addEventListener("runpage", () => {
  for (const figure of charts.keys()) if (!figure.isConnected) forget(figure);
});
watchRun(pointed);

// show draws only the executions of a section that a function selects.
export function show(section, selects) {
  shown.set(section, selects);
  for (const [figure, chart] of charts) {
    if (!section.contains(figure)) continue;
    const lines = selected(figure);
    if (lines.length === chart.lines.length && lines.every((line, i) => line === chart.lines[i])) continue;
    draw(figure);
    tables(figure);
  }
}

// selected are the curves of a chart that its section draws.
function selected(figure) {
  const { lines } = charts.get(figure).frame, selects = shown.get(figure.closest("[data-compare]"));
  return selects ? lines.filter(({ run }) => !run || selects(run)) : lines;
}

async function load(figure) {
  const holder = figure.querySelector("[data-plot]");
  try {
    const response = await fetch(figure.dataset.curves, { headers: { Accept: "application/json" } });
    if (!response.ok) throw new Error(response.status);
    const text = await response.text();
    uPlot ??= (await library).default;
    const chart = charts.get(figure);
    if (chart?.text === text) return;
    charts.set(figure, { ...chart, text, frame: JSON.parse(text) });
    draw(figure);
    tables(figure); // opened before the curves arrived, or older values
    if (!charts.get(figure).frame.live) figure.closest("[data-compare]").querySelector("[data-live]")?.remove();
  } catch {
    if (!charts.has(figure)) holder.textContent = "The curves could not be loaded. Reload the page to try again.";
  }
  holder.removeAttribute("aria-busy");
}

// follow reads the charts again while an execution runs, when the stream has brought another
// comparison: one after the other, and three seconds after the last, so that a slow server is asked
// less often. A page whose version does not change with each value says data-poll.
async function follow(section) {
  const version = () => "poll" in section.dataset ? null : document.querySelector("[data-version]")?.dataset.version;
  let live = section.querySelector("[data-live]"), seen = version();
  while (live) {
    await new Promise((done) => setTimeout(done, 3000));
    live = section.querySelector("[data-live]"); // without it, once more after the end
    if (!section.isConnected) return;
    if (document.hidden || live && seen && version() === seen) continue; // a report has no version
    seen = version();
    for (const figure of charts.keys()) {
      if (!section.contains(figure)) continue;
      if (!section.isConnected) return;
      await load(figure);
    }
  }
}

function redraw() {
  for (const figure of charts.keys()) figure.isConnected ? draw(figure) : forget(figure);
}

// forget removes the chart of a figure that left the page.
function forget(figure) {
  charts.get(figure).plot?.destroy();
  charts.delete(figure);
}

function resize() {
  for (const [figure, { plot, bars, width: before }] of charts) {
    const width = figure.querySelector("[data-plot]").offsetWidth;
    if (bars && width && before !== width) draw(figure);
    if (plot && width && plot.width !== width) plot.setSize({ width, height: heightOf(figure, width) });
  }
}

const heightOf = (figure, width) => Math.min(Math.round(width * 0.5), figure.classList.contains("chart-large") ? 460 : 300);

function draw(figure) {
  const chart = charts.get(figure);
  const { frame } = chart;
  const o = options(figure);
  palette.clear();
  const lines = chart.lines = selected(figure);
  const scale = chart.plot && keptZoom(chart.plot);
  chart.plot?.destroy();
  const holder = figure.querySelector("[data-plot]");
  holder.replaceChildren();
  holder.removeAttribute("tabindex");
  chart.plot = chart.focus = chart.bars = null;
  if (!lines.length) {
    holder.textContent = frame.partial ? missing : frame.lines.length ? "None of the executions shown has this metric." : "No values yet.";
    keys(figure);
    return;
  }
  if (singles(lines)) {
    chart.width = holder.offsetWidth;
    chart.bars = barsOf(lines, chart.width || 300, valueText);
    holder.replaceChildren(chart.bars);
    if (scrolls(lines)) holder.tabIndex = 0;
    keys(figure);
    return;
  }
  const across = xScale(frame, o);
  chart.from = across.from;
  const { series, data, bands } = linesOf(figure, frame, lines, o);
  for (const i of data.keys()) data[i] = data[i].slice(across.from);
  const axis = { stroke: colour(figure, "--text-2"), font: "11px Inter, sans-serif", grid: { stroke: colour(figure, "--line"), width: 1 }, ticks: { show: false } };
  const width = holder.clientWidth || 300;
  chart.plot = new uPlot({
    width, height: heightOf(figure, width), legend: { show: false }, focus: { alpha: 0.25 },
    cursor: { sync: { key: figure.closest("[data-compare]").id }, y: false, focus: { prox: lines.length > 1 ? 24 : -1 } },
    scales: { x: across.scale, y: yScale(lines, o) },
    axes: [
      { ...axis, space: 64, size: 26, values: xValues(frame), ...(frame.axis === "step" && !across.scale.distr && { incrs: wholeSteps }) },
      { ...axis, size: 52, ...(!o.log && { values: (u, at) => at.map((v) => v == null ? "" : String(Number(v.toPrecision(6)))) }) },
    ],
    series, bands,
    hooks: { setCursor: [(u) => readout(figure, u)], setSeries: [(u, i) => focused(figure, i == null ? null : u.series[i]?.line)] },
  }, data, holder);
  if (scale && (scale.min > 0 || !o.logAxis)) chart.plot.setScale("x", scale);
  highlight(chart);
  keys(figure);
}

// keptZoom is the part of the axis that the reader has zoomed to.
function keptZoom(plot) {
  const x = plot.data[0], { min, max } = plot.scales.x;
  return x.length > 1 && (min > x[0] || max < x[x.length - 1]) ? { min, max } : null;
}

// linesOf are the series of a chart: the raw line behind the smoothed one, and the band of a group.
function linesOf(figure, frame, lines, o) {
  const series = [{}], data = [frame.x], bands = [];
  const positive = (values) => o.log ? values.map((v) => v > 0 ? v : null) : values;
  lines.forEach((line, i) => {
    const grey = line.color < 0, strong = lines.length <= few && !grey;
    const stroke = colour(figure, grey ? "--text-3" : `--s-${line.color + 1}`);
    const dash = dashOf(line);
    const base = { spanGaps: true, line: i, points: { show: false } };
    if (line.high) {
      series.push({ ...base, label: `${line.name} highest`, stroke: fade(stroke, 0), width: 0 }, { ...base, label: `${line.name} lowest`, stroke: fade(stroke, 0), width: 0 });
      data.push(positive(line.high), positive(line.low));
      bands.push({ series: [series.length - 2, series.length - 1], fill: fade(stroke, 0.15) });
    }
    if (o.weight > 0 && strong && !line.high) {
      series.push({ ...base, label: `${line.name} raw`, stroke: fade(stroke, 0.28), width: 1 });
      data.push(positive(line.y));
    }
    series.push({ ...base, label: line.name, main: true, stroke: grey ? fade(stroke, 0.55) : stroke, colour: stroke, width: strong ? 1.75 : 1.25, strong, dash, points: { show: line.y.filter((v) => v != null).length === 1, size: 7, fill: stroke } });
    data.push(positive(o.weight > 0 ? smoothed(line.y, o.weight) : line.y));
  });
  return { series, data, bands };
}

// dashOf tells curves of the same colour apart.
const dashOf = ({ color, dash }) => color < 0 ? [] : dashes[dash % dashes.length];

// keys fills the legend of a chart. Of many curves it names the first ones, and the one that the
// reader points at. The rows of a table can be the legend of many curves.
function keys(figure) {
  const { frame, lines, plot } = charts.get(figure);
  const holder = figure.querySelector("[data-keys]");
  holder.replaceChildren();
  if (!plot) return;
  const many = lines.length > few, list = !many || !("rows" in figure.closest("[data-compare]").dataset);
  holder.classList.toggle("chart-keys-many", many && list);
  for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", "Legend, scrollable"]]) {
    if (many && list) holder.setAttribute(name, value);
    else holder.removeAttribute(name);
  }
  if (many) {
    const text = document.createElement("span");
    text.dataset.one = "";
    text.textContent = crowd(frame, lines);
    holder.append(text);
  }
  const start = sharedStart(lines);
  lines.slice(0, list ? listed : 0).forEach((line, i) => {
    const key = document.createElement("span");
    key.className = "chart-key";
    if (line.run) key.dataset.run = line.run;
    const value = document.createElement("span");
    value.className = "num";
    value.dataset.value = i;
    value.textContent = valueText(last(line));
    key.append(swatch(line), ` ${line.name.slice(start)} `, value);
    holder.append(key);
  });
  if (list && lines.length > listed) holder.append(` and ${lines.length - listed} more`);
  if (!many && frame.of > frame.lines.length && !frame.lines[0].high) holder.append(` ${frame.lines.length} of ${frame.of} curves`);
  if (frame.partial) holder.append(` ${missing}`);
  readout(figure, plot);
}

// sharedStart is the length of the text with which all names begin, such as that of the sweep.
function sharedStart(lines) {
  if (lines.length < 2 || !lines.every((line) => line.run)) return 0;
  let text = lines[0].name;
  for (const { name } of lines) while (!name.startsWith(text)) text = text.slice(0, -1);
  const end = text.lastIndexOf(", ");
  return end < 0 ? 0 : end + 2;
}

function crowd(frame, lines) {
  const more = frame.of > frame.lines.length && !frame.lines[0].high ? ` of ${frame.of}` : "";
  return `${lines.length}${more} curves. Hover over a curve to see its name.`;
}

function swatch({ color, dash }) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("viewBox", "0 0 22 12");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("class", color < 0 ? "line s-more" : `line s${color + 1}`);
  path.style.strokeDasharray = dashOf({ color, dash }).join(" ") || "none";
  path.setAttribute("d", "M0 6h22");
  svg.append(path);
  return svg;
}

// last is the last value of a line. A line of many values does not have all of them.
const last = ({ y, last: all }) => all ?? y.findLast((v) => v != null);

// before is the value of a line at a position, or the one before it.
function before(values, at) {
  for (let i = at; i >= 0; i--) if (values[i] != null) return values[i];
  return null;
}

// readout shows the values under the pointer.
function readout(figure, plot) {
  const { frame, lines, focus, from } = charts.get(figure);
  const at = plot.cursor.idx == null ? null : plot.cursor.idx + from;
  figure.querySelector("[data-step]").textContent = at == null ? "" : positionText(frame, frame.x[at]);
  for (const out of figure.querySelectorAll("[data-value]")) {
    const line = lines[out.dataset.value];
    out.textContent = valueText(at == null ? last(line) : before(line.y, at));
  }
  const one = figure.querySelector("[data-one]");
  const line = lines[focus] ?? lines.find(({ run }) => run && run === pointedRun());
  if (one) one.textContent = line ? `${line.name} ${valueText(at == null ? last(line) : before(line.y, at))}` : crowd(frame, lines);
}

// focused is called when another curve is near the pointer.
function focused(figure, line) {
  const chart = charts.get(figure);
  if (chart.focus === line) return;
  chart.focus = line;
  pointAt(chart.lines[line]?.run ?? null, chart);
  readout(figure, chart.plot);
}

// pointed highlights the curves of an execution, except in the chart that highlights them itself.
function pointed(except) {
  for (const [figure, chart] of charts) {
    if (chart === except || !chart.plot) continue;
    highlight(chart);
    readout(figure, chart.plot);
  }
}

function highlight({ plot, lines }) {
  const at = pointedRun();
  const any = at != null && lines.some(({ run }) => run === at);
  plot.series.forEach((s) => {
    if (!s.main) return;
    const on = any && lines[s.line].run === at;
    s.width = (on ? 3 : s.strong ? 1.75 : 1.25) * devicePixelRatio;
    s.alpha = !any || on ? 1 : 0.25;
  });
  plot.redraw(false);
}

function pressed(event) {
  const figure = event.target.closest("figure");
  const chart = charts.get(figure);
  if (!chart?.plot && !chart?.bars) return;
  const wide = event.target.closest("[data-wide]");
  if (wide) {
    wide.setAttribute("aria-pressed", String(figure.classList.toggle("chart-large")));
    draw(figure);
  }
  const kind = event.target.closest("[data-save]")?.dataset.save;
  if (kind && chart.bars) import("./plots/draw.js").then(({ saveDrawing }) => saveDrawing(kind, figure.dataset.name, chart.bars));
  else if (kind) save(kind, figure.dataset.name, svgOf(chart.plot, { title: figure.dataset.name, surface: colour(figure, "--surface"), ink: colour(figure, "--text") }));
}

function tables(figure) {
  for (const details of figure.querySelectorAll("[data-values][open]")) fillTable(details);
}

// fillTable writes the values of a chart as a table.
function fillTable(details) {
  const { lines } = charts.get(details.closest("figure")) ?? {};
  if (!lines || !details.open) return;
  details.querySelector("table")?.remove();
  details.append(tableOf(lines, swatch, valueText));
}

// smoothed is an exponential moving average, corrected for the bias of its first value.
function smoothed(values, weight) {
  let mean = 0, debias = 0;
  return values.map((value) => {
    if (value == null) return null;
    mean = mean * weight + (1 - weight) * value;
    debias = debias * weight + (1 - weight);
    return mean / debias;
  });
}

// A custom property may hold light-dark(): let the browser resolve it, once for each drawing, because it
// computes the styles of the page for that.
function colour(figure, name) {
  if (palette.has(name)) return palette.get(name);
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  figure.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  palette.set(name, found);
  return found;
}

function fade(found, alpha) {
  return found.startsWith("oklch(") && !found.includes("/") ? found.replace(")", ` / ${alpha})`) : found;
}
