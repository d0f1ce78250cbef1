// Scales of columns: where a value lies between 0 and 1, which ticks it has, and how it reads.

// scaleOf is the scale of a column: categories at equal distances, numbers evenly or by powers.
export function scaleOf(column, log = column.log) {
  if (column.categories) return categories(column);
  const numbers = column.values.filter((v) => v != null && (!log || v > 0));
  let [low, high] = column.range ?? [Infinity, -Infinity];
  for (const v of numbers) { low = Math.min(low, v); high = Math.max(high, v); }
  if (!(low <= high)) [low, high] = log ? [1, 10] : [0, 1];
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const [from, to] = log ? [Math.log(low), Math.log(high)] : [low, high];
  const whole = column.integer && !log;
  return {
    low, high, log,
    at: (v) => v == null || log && v <= 0 ? null : ((log ? Math.log(v) : v) - from) / (to - from),
    value: (share) => log ? Math.exp(from + share * (to - from)) : from + share * (to - from),
    step: whole ? 1 / Math.max(1, to - from) : 0.02,
    ticks: (count) => column.ticks?.length <= 2 * count ? column.ticks : log ? logTicks(low, high, count) : ticks(low, high, count, column.integer),
    text: (v) => textOf(column, v),
  };
}

function categories(column) {
  const last = column.categories.length - 1;
  const at = (v) => v == null ? null : last > 0 ? v / last : 0.5;
  return {
    low: 0, high: Math.max(0, last), category: true, at,
    value: (share) => Math.min(Math.max(0, last), Math.max(0, Math.round(share * last))),
    step: last > 0 ? 1 / last : 1,
    ticks: (count) => {
      const stride = Math.ceil((last + 1) / Math.max(2, count));
      return column.categories.map((_, i) => i).filter((i) => i % stride === 0);
    },
    text: (v) => textOf(column, v),
  };
}

// labelOf is the short name of a column.
export const labelOf = (column) => column.label ?? column.name;

// canLog reports whether a column has a logarithmic scale: all its numbers are above zero.
export const canLog = (column) => !column.categories && !column.time && column.values.some((v) => v != null) && column.values.every((v) => v == null || v > 0);

function ticks(low, high, count, integer) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  if (integer) step = Math.max(1, Math.round(step));
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}

// logTicks are powers of ten, with 2 and 5 between them where there are few.
function logTicks(low, high, count) {
  const from = Math.floor(Math.log10(low) + 1e-9), to = Math.ceil(Math.log10(high) - 1e-9);
  const within = (v) => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9);
  for (const [steps, stride] of [[[1, 2, 5], 1], [[1], 1], [[1], 2], [[1], 3], [[1], 6], [[1], 12]]) {
    const out = [];
    for (let p = from; p <= to; p += stride) for (const m of steps) out.push(Number(`${m}e${p}`));
    const found = out.filter(within);
    if (found.length <= Math.max(2, count)) return found.length > 1 ? found : [low, high];
  }
  return [low, high];
}

// textOf is a value of a column as readers see it.
export function textOf(column, v) {
  if (v == null) return "–";
  if (column.categories) return column.categories[v] ?? "–";
  return column.time ? clock(column, v) : numberText(v);
}

function clock(column, seconds) {
  const span = column.values.reduce(([a, b], v) => v == null ? [a, b] : [Math.min(a, v), Math.max(b, v)], [seconds, seconds]);
  const long = span[1] - span[0] > 86400;
  const parts = long ? { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit", ...(span[1] - span[0] < 600 && { second: "2-digit" }) };
  try {
    return new Intl.DateTimeFormat("en-GB", { ...parts, timeZone: column.zone }).format(seconds * 1000);
  } catch {
    return new Intl.DateTimeFormat("en-GB", parts).format(seconds * 1000);
  }
}

// numberText writes a number with four digits, small and large ones with an exponent: 3e-4.
export function numberText(v) {
  const size = Math.abs(v);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return Number(v.toPrecision(3)).toExponential().replace("e+", "e").replace(/^-/, "−");
  const short = Number.isInteger(v) ? v : Number(v.toPrecision(4));
  return (size >= 1e4 ? short.toLocaleString("en-US", { maximumFractionDigits: 4 }) : String(short)).replace(/^-/, "−");
}
