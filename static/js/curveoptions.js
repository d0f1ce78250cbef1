// What the controls of curves select: smoothing, scales and outliers.

// options are those of the controls, or those of a section without controls.
export function options(figure) {
  const section = figure.closest("[data-compare]"), form = section.querySelector("[data-compare-controls]");
  const { smooth = "0", scale, outliers } = section.dataset;
  if (!form) return { weight: Number(smooth) / 100, log: scale === "log", outliers: outliers === "hide" };
  const { smooth: weight, scale: log, xscale, outliers: ignored } = form.elements;
  return { weight: Number(weight.value) / 100, log: log.checked, logAxis: Boolean(xscale?.checked), outliers: ignored.checked };
}

// remember keeps the controls in the address, which is the state of the page.
export function remember(form) {
  const url = new URL(location.href);
  const { smooth, scale, xscale, outliers } = form.elements;
  for (const [name, value] of [["smooth", smooth.value], ["scale", scale.checked && "log"], ["xscale", xscale?.checked && "log"], ["outliers", outliers.checked && "hide"]]) {
    if (value && value !== "0") url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  history.replaceState(history.state, "", url);
}

// yScale ignores the lowest and the highest 2 % of all values when the reader asks for it.
export function yScale(lines, o) {
  const distr = o.log ? 3 : 1;
  if (!o.outliers) return { distr };
  const values = lines.flatMap((line) => line.y.filter((v) => v != null && (!o.log || v > 0))).sort((a, b) => a - b);
  if (!values.length) return { distr };
  const at = (share) => values[Math.round(share * (values.length - 1))];
  const low = at(0.02), high = at(0.98), pad = o.log ? 0 : (high - low || 1) * 0.06;
  return { distr, range: [low - pad, high + pad] };
}

// xScale is the horizontal scale of a frame, and the first of its positions that it shows: a logarithmic
// scale has none up to zero.
export function xScale({ axis, x }, o) {
  const from = o.logAxis && axis !== "time" ? x.findIndex((at) => at > 0) : 0;
  const one = x.length === 1 && { range: [x[0] - 1, x[0] + 1] };
  if (from < 0 || !o.logAxis || axis === "time" || x.length < 2) return { from: 0, scale: { time: axis === "time", ...one } };
  return { from, scale: { time: false, distr: 3 } };
}

// The distances between the labels of an axis of steps, which are whole numbers.
export const wholeSteps = [...Array(15).keys()].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));
