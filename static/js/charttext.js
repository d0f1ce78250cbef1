// Positions and values of charts as text.
export function xValues(frame) {
  if (frame.axis === "relative") return (u, at) => at.map((v) => v == null ? "" : clock(v));
  if (frame.axis !== "time") return (u, at) => at.map((v) => v == null ? "" : String(Number(v.toPrecision(8))));
  return (u, at, axis, space, step) => at.map((t) => moment(t, step < 60 ? { hour: "2-digit", minute: "2-digit", second: "2-digit" } : step < 86400 ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" }, frame.zone));
}

function moment(seconds, format, zone) {
  try { return new Intl.DateTimeFormat("en-GB", { ...format, timeZone: zone }).format(seconds * 1000); } catch { return new Intl.DateTimeFormat("en-GB", format).format(seconds * 1000); }
}

function clock(seconds) {
  const s = Math.abs(seconds);
  if (s < 120) return `${Number(seconds.toPrecision(4))} s`;
  return s < 7200 ? `${Number((seconds / 60).toPrecision(4))} min` : `${Number((seconds / 3600).toPrecision(4))} h`;
}

export function positionText(frame, x) {
  const about = frame.exact ? "" : "about ";
  if (frame.axis === "time") return about + moment(x, { hour: "2-digit", minute: "2-digit", second: "2-digit" }, frame.zone);
  return about + (frame.axis === "relative" ? clock(x) : `step ${Math.round(x)}`);
}

// valueText writes a value with four digits, or with as many more as it needs not to look like an
// integer: 0.999996.
export function valueText(v) {
  if (v == null) return "–";
  let digits = 4;
  while (digits < 9 && Math.abs(v) < 1000 && !Number.isInteger(v) && Number.isInteger(Number(v.toPrecision(digits)))) digits++;
  return String(Number(v.toPrecision(digits)));
}

// showSmoothing writes the weight that the slider of a form selects.
export function showSmoothing(form) {
  const out = form.querySelector("[data-smoothing]");
  if (out) out.value = (form.elements.smooth.value / 100).toFixed(2);
}
