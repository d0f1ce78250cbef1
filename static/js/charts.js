// Metric charts: uPlot replaces the server's SVG for hover, zoom and smoothing. The page
// holds the data as JSON alongside the SVG, which remains the fallback and the print version.
import { showSmoothing, valueText } from "./charttext.js";
import { wholeSteps } from "./curveoptions.js";

let uPlot;
const drawn = new Map();

export async function setUp() {
  const figures = [...document.querySelectorAll("[data-charts] figure[data-series]")];
  if (!figures.length) return;
  try {
    uPlot ??= (await import("../vendor/uplot.js")).default;
  } catch (error) { // the server does not respond; the next update of the page tries again
    console.warn(error);
    return;
  }
  for (const [figure, { plot }] of drawn) {
    if (!figure.isConnected) { plot.destroy(); drawn.delete(figure); }
  }
  for (const figure of figures) draw(figure);
  const controls = document.querySelector("[data-chart-controls]:not([data-ready])");
  if (controls) {
    controls.dataset.ready = "";
    controls.addEventListener("input", () => { showSmoothing(controls); redraw(); });
  }
}

document.addEventListener("theme", redraw);

// Buttons enlarge a chart to the width of the page and restore it.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-enlarge]");
  const figure = button?.closest("figure");
  if (!figure) return;
  const on = figure.classList.toggle("chart-large");
  button.setAttribute("aria-pressed", String(on));
  const old = drawn.get(figure);
  if (old) { old.plot.destroy(); drawn.delete(figure); draw(figure); }
});

function redraw() {
  for (const [figure, { plot }] of [...drawn]) { plot.destroy(); drawn.delete(figure); draw(figure); }
}

function smoothing() {
  return Number(document.querySelector("[data-chart-controls] [name=smooth]")?.value ?? 0) / 100;
}

function draw(figure) {
  const source = figure.dataset.series;
  const before = drawn.get(figure);
  if (before?.source === source) return;
  before?.plot.destroy();
  const { names, x, ys, time, log, zero, zone } = JSON.parse(source);
  const holder = figure.querySelector("[data-plot]");
  const colour = (name) => resolve(figure, name);
  const dashes = [[], [7, 3], [2, 3], [10, 3, 2, 3]];
  const weight = smoothing();
  const series = [{}], data = [x];
  names.forEach((name, i) => {
    const stroke = colour(`--s-${i % 6 + 1}`);
    if (weight > 0) {
      series.push({ label: name, stroke: faint(stroke), width: 1, spanGaps: true, points: { show: false }, dash: dashes[i % 4] });
      data.push(ys[i]);
    }
    series.push({ label: name, stroke, width: 1.75, spanGaps: true, dash: dashes[i % 4], points: { show: x.length < 2, size: 7, fill: stroke } });
    data.push(weight > 0 ? smoothed(ys[i], weight) : ys[i]);
  });
  const axis = { stroke: colour("--text-2"), font: "11px Inter, sans-serif", grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const plot = new uPlot({
    width: holder.clientWidth || 300, height: Math.min(Math.round((holder.clientWidth || 300) * 0.45), figure.classList.contains("chart-large") ? 420 : 240),
    cursor: { sync: { key: "metrics" }, y: false },
    legend: { show: false },
    scales: {
      x: x.length === 1 ? { time, range: [x[0] - (time ? 10 : 1), x[0] + (time ? 10 : 1)] } : { time },
      y: zero ? { range: (u, low, high) => [Math.min(low ?? 0, 0), high > 0 ? high * 1.1 : 1] } : { distr: log ? 3 : 1 },
    },
    axes: [
      { ...axis, space: 64, size: 26, ...(time ? { values: clockTimes(zone) } : { incrs: wholeSteps }) },
      { ...axis, size: 46, ...(!log && { values: (u, at) => at.map((v) => v == null ? "" : String(Number(v.toPrecision(6)))) }) },
    ],
    series,
    hooks: { setCursor: [(u) => readout(figure, u, weight > 0 ? 2 : 1)] },
  }, data, holder);
  drawn.set(figure, { plot, source });
}

// clockTimes labels a time axis as the server does: in the user's time zone, with
// seconds when the ticks are close together.
function clockTimes(zone) {
  const format = (options) => {
    try { return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone }); } catch { return new Intl.DateTimeFormat("en-GB", options); }
  };
  const minute = format({ hour: "2-digit", minute: "2-digit" });
  const second = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const day = format({ day: "numeric", month: "short" });
  return (u, at, axis, space, step) => at.map((t) => (step < 60 ? second : step < 86400 ? minute : day).format(t * 1000));
}

// readout shows the values under the pointer in the figure's caption.
function readout(figure, plot, step) {
  const at = plot.cursor.idx;
  const under = figure.querySelector("[data-step]");
  if (under) under.textContent = at == null ? "" : stepText(figure, plot.data[0][at]);
  [...figure.querySelectorAll("[data-readout]")].forEach((out, i) => {
    out.dataset.latest ??= out.textContent;
    const value = at == null ? null : plot.data[(i + 1) * step]?.[at];
    out.textContent = at == null ? out.dataset.latest : valueText(value);
  });
}

// stepText names the step, or the moment, under the pointer.
function stepText(figure, x) {
  const { time, zone } = JSON.parse(figure.dataset.series);
  if (!time) return `step ${Number(x.toPrecision(8))}`;
  const options = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  try { return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone }).format(x * 1000); } catch { return new Intl.DateTimeFormat("en-GB", options).format(x * 1000); }
}

// smoothed is an exponential moving average, corrected for the bias of its first value.
function smoothed(values, weight) {
  let last = 0, debias = 0;
  return values.map((value) => {
    if (value == null) return null;
    last = last * weight + (1 - weight) * value;
    debias = debias * weight + (1 - weight);
    return last / debias;
  });
}

// A custom property may hold light-dark(): let the browser resolve it.
function resolve(figure, name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  figure.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function faint(colour) {
  return colour.startsWith("oklch(") && !colour.includes("/") ? colour.replace(")", " / 0.3)") : colour;
}
