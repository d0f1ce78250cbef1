import { keepInLinks } from "../address.js";

// The choices of a reader in the drawings are part of the address: the ranges of axes (brush), which axes
// are shown, in which order and scale (axis), the columns of the scatter plot and the history, and what
// colors stand for. So a reload, a link to the page and a change of its order keep them.
const own = ["brush", "axis", "px", "py", "order", "color"];
const kept = [...own, "smooth", "scale", "xscale", "outliers"]; // and those of the curves

// linked reads the address: filters by column, axes in their order, and columns by control.
export function linked() {
  const query = new URLSearchParams(location.search);
  const filters = new Map();
  for (const text of query.getAll("brush")) {
    const [low, high, name] = parts(text, 3);
    if (name && low !== "" && high !== "" && Number(low) <= Number(high)) filters.set(name, [Number(low), Number(high)]);
  }
  const axes = query.getAll("axis").map((text) => {
    const [flags, name] = parts(text, 2);
    return { column: { name }, on: flags.includes("on"), log: flags.includes("log") };
  });
  const columns = {};
  for (const key of ["x", "y"]) {
    const text = query.get(`p${key}`);
    if (text == null) continue;
    const [scale, name] = parts(text, 2);
    columns[key] = { name, log: scale === "log" };
  }
  return { filters, axes: axes.length ? axes : null, columns, order: query.get("order"), color: query.get("color") };
}

// parts splits a text at its first n - 1 tildes; names may have more.
function parts(text, n) {
  const out = text.split("~");
  return [...out.slice(0, n - 1), out.slice(n - 1).join("~")];
}

// remember writes the choices into the address.
export function remember({ filters, link }) {
  const url = new URL(location.href);
  for (const key of own) url.searchParams.delete(key);
  for (const [name, [low, high]] of filters) url.searchParams.append("brush", `${low}~${high}~${name}`);
  for (const { column, on, log } of link.axes ?? []) url.searchParams.append("axis", `${on ? "on" : "off"}${log ? ".log" : ""}~${column.name}`);
  for (const [key, { name, log }] of Object.entries(link.columns)) url.searchParams.set(`p${key}`, `${log ? "log" : "linear"}~${name}`);
  if (link.order) url.searchParams.set("order", link.order);
  if (link.color) url.searchParams.set("color", link.color);
  if (url.href !== location.href) history.replaceState(history.state, "", url);
}

keepInLinks(() => document.querySelector("[data-plots]"), kept, own);
