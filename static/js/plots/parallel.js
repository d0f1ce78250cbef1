// Parallel coordinates: an axis for each column and a line for each run. The reader sets the
// range of an axis by dragging on it, or with the arrow keys on its two ends.
import { svg, html, mark, stateText } from "./draw.js";
import { canLog, labelOf, scaleOf } from "./scale.js";

const height = 300, top = 44, foot = 24, side = 70, apart = 104;
const shades = 4;

export function parallel(view, figure) {
  const plot = figure.querySelector("[data-plot]");
  const part = { figure, axes: null, shown: [] };
  let lines = [], drawing = null, dragging = null;

  part.columns = () => part.shown.map((axis) => axis.column);

  part.draw = () => {
    const { frame } = view;
    part.axes = axesOf(frame, part.axes ?? view.link.axes);
    part.shown = part.axes.filter((axis) => axis.on);
    const focused = document.activeElement?.closest?.("[data-end]")?.dataset;
    const width = Math.max(plot.clientWidth, 2 * side + apart * (part.shown.length - 1));
    part.shown.forEach((axis, i) => {
      axis.x = part.shown.length > 1 ? side + i * (width - 2 * side) / (part.shown.length - 1) : width / 2;
      axis.scale = scaleOf(axis.column, axis.log);
    });
    lines = [];
    drawing = svg("svg", { class: "chart pc", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `${figure.dataset.name}: ${frame.ids.length} runs, ${part.shown.length} axes` });
    drawing.append(linesOf(), ...part.shown.map(axisOf));
    plot.replaceChildren(frame.ids.length ? drawing : "No run has finished yet.");
    menu();
    part.choose();
    if (focused) drawing.querySelector(`[data-axis="${CSS.escape(focused.axis)}"][data-end="${focused.end}"]`)?.focus({ preventScroll: true });
  };

  function linesOf() {
    const { frame } = view;
    const group = svg("g", { class: "pc-lines", "aria-hidden": "true" });
    const key = figure.querySelector("[data-best-key]");
    key?.setAttribute("class", frame.best >= 0 ? `pc-key ${mark(frame, frame.best)}` : "pc-key");
    const objective = frame.columns[frame.objective];
    const rank = ranks(objective);
    const order = frame.ids.map((_, row) => row).sort((a, b) => (rank[a] ?? -1) - (rank[b] ?? -1));
    for (const row of order) {
      const path = pathOf(row);
      if (!path) continue;
      lines[row] = svg("path", { d: path, class: `${lineOf(row, rank[row])} ${mark(frame, row)}`, "data-row": row });
      group.append(lines[row]);
    }
    if (lines[frame.best]) group.append(lines[frame.best]);
    return group;
  }

  // lineOf is the class of a line: of its run, or of the rank of its run.
  function lineOf(row, rank) {
    const best = row === view.frame.best ? "pc-best" : "";
    if (view.byRun) return `line pc-run d${view.frame.dashes[row]} ${best}`;
    return best || (rank == null ? "pc-none" : `pc-${Math.min(shades, 1 + Math.floor(rank * shades))}`);
  }

  // pathOf is a curve through the axes; a missing value interrupts it.
  function pathOf(row) {
    let path = "", before = null;
    for (const { x, column, scale } of part.shown) {
      const share = scale.at(column.values[row]);
      if (share == null) { before = null; continue; }
      const y = yOf(share);
      const middle = before && (before.x + x) / 2;
      path += before ? `C${fixed(middle)} ${fixed(before.y)} ${fixed(middle)} ${fixed(y)} ${fixed(x)} ${fixed(y)}` : `M${fixed(x)} ${fixed(y)}`;
      before = { x, y };
    }
    return path.includes("C") || part.shown.length === 1 ? path : "";
  }

  function axisOf(axis) {
    const { x, column, scale } = axis;
    const group = svg("g", { class: "pc-axis" });
    const name = svg("text", { class: "axname", x, y: 14, "text-anchor": "middle" }, shortened(labelOf(column)));
    name.append(svg("title", {}, column.name));
    group.append(name);
    if (axis.log) group.append(svg("text", { x, y: 28, "text-anchor": "middle" }, "log"));
    group.append(svg("line", { class: "axisline", x1: x, x2: x, y1: top, y2: height - foot }));
    for (const v of scale.ticks(5)) {
      const y = yOf(scale.at(v));
      group.append(svg("line", { class: "axisline", x1: x - 3, x2: x + 3, y1: y, y2: y }), svg("text", { class: "tick", x: x - 15, y: y + 4, "text-anchor": "end" }, shortened(scale.text(v))));
    }
    axis.brush = svg("rect", { class: "pc-brush", x: x - 8, width: 16, "data-control": "" });
    const hit = svg("rect", { class: "pc-hit", x: x - 16, y: top - 12, width: 32, height: height - top - foot + 24, "data-control": "" });
    hit.addEventListener("pointerdown", (event) => drag(event, axis, hit));
    axis.ends = ["low", "high"].map((end) => endOf(axis, end));
    group.append(axis.brush, hit, ...axis.ends);
    return group;
  }

  // endOf is the handle of one end of a range, a slider for the keyboard.
  function endOf(axis, end) {
    const { column, scale } = axis;
    const handle = svg("rect", {
      class: "pc-end", x: axis.x - 12, width: 24, height: 8, rx: 3, tabindex: "0", role: "slider", "aria-orientation": "vertical", "data-control": "", "data-axis": column.name, "data-end": end,
      "aria-label": `${column.name}, ${end === "low" ? "lowest" : "highest"} value`, "aria-valuemin": String(scale.low), "aria-valuemax": String(scale.high),
    });
    handle.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 }[event.key];
      const range = rangeOf(axis);
      const i = end === "low" ? 0 : 1;
      if (steps) range[i] += steps * scale.step;
      else if (event.key === "Home") range[i] = i ? range[0] : 0;
      else if (event.key === "End") range[i] = i ? 1 : range[1];
      else if (["Escape", "Delete", "Backspace"].includes(event.key)) return clear(event, axis);
      else return;
      event.preventDefault();
      range[i] = i ? Math.min(1, Math.max(range[0], range[i])) : Math.max(0, Math.min(range[1], range[i]));
      set(axis, range);
    });
    handle.addEventListener("pointerdown", (event) => drag(event, axis, handle, end));
    return handle;
  }

  function clear(event, axis) {
    event.preventDefault();
    view.filters.delete(axis.column.name);
    view.change();
  }

  // rangeOf is the chosen part of an axis, as shares.
  function rangeOf({ column, scale }) {
    const range = view.filters.get(column.name);
    return range ? range.map((v) => Math.min(1, Math.max(0, scale.at(v) ?? 0))) : [0, 1];
  }

  function set({ column, scale }, [low, high]) {
    if (low <= 1e-6 && high >= 1 - 1e-6) view.filters.delete(column.name);
    else {
      const rounding = (scale.high - scale.low) * 1e-9; // ends of a range include their values
      view.filters.set(column.name, [(low <= 1e-6 ? scale.low : scale.value(low)) - rounding, (high >= 1 - 1e-6 ? scale.high : scale.value(high)) + rounding]);
    }
    view.change();
  }

  // drag sets a new range, moves the one under the pointer, or one of its ends.
  function drag(event, axis, target, end) {
    if (event.button) return;
    event.preventDefault();
    target.setPointerCapture(event.pointerId);
    const from = shareAt(event), range = rangeOf(axis), set0 = view.filters.has(axis.column.name);
    const inside = !end && set0 && from >= range[0] && from <= range[1];
    dragging = axis;
    let moved = false;
    const move = (event) => {
      const at = shareAt(event);
      if (!moved && Math.abs(at - from) * (height - top - foot) < 3) return;
      moved = true;
      if (end) set(axis, end === "low" ? [Math.min(at, range[1]), range[1]] : [range[0], Math.max(at, range[0])]);
      else if (inside) {
        const by = Math.min(1 - range[1], Math.max(-range[0], at - from));
        set(axis, [range[0] + by, range[1] + by]);
      } else set(axis, [Math.min(from, at), Math.max(from, at)]);
    };
    const done = () => {
      target.removeEventListener("pointermove", move);
      target.removeEventListener("pointerup", done);
      target.removeEventListener("pointercancel", done);
      dragging = null;
      if (!moved && !end) { view.filters.delete(axis.column.name); view.change(); }
      axis.ends[end === "high" ? 1 : 0].focus({ preventScroll: true });
    };
    target.addEventListener("pointermove", move);
    target.addEventListener("pointerup", done);
    target.addEventListener("pointercancel", done);
  }

  function shareAt(event) {
    const box = drawing.getBoundingClientRect();
    const y = (event.clientY - box.top) * height / box.height;
    return Math.min(1, Math.max(0, (height - foot - y) / (height - top - foot)));
  }

  part.choose = () => {
    const { frame } = view;
    if (!drawing || !frame.ids.length) return;
    lines.forEach((line, row) => line.toggleAttribute("data-off", !view.chosen[row]));
    for (const axis of part.shown) {
      const range = rangeOf(axis), on = view.filters.has(axis.column.name);
      const [low, high] = range.map(yOf);
      axis.brush.setAttribute("y", high);
      axis.brush.setAttribute("height", Math.max(2, low - high));
      axis.brush.toggleAttribute("data-on", on);
      axis.ends.forEach((handle, i) => {
        handle.setAttribute("y", i ? high - 8 : low);
        handle.setAttribute("aria-valuenow", String(axis.scale.value(range[i])));
        handle.setAttribute("aria-valuetext", axis.scale.text(axis.scale.value(range[i])));
      });
    }
    part.point();
  };

  part.point = () => {
    drawing?.querySelector("[data-pointed]")?.removeAttribute("data-pointed");
    const line = lines[view.pointed];
    line?.setAttribute("data-pointed", "");
    if (line?.nextSibling) line.parentNode.append(line);
    showMessage();
  };

  function showMessage() {
    const { frame, pointed } = view;
    const out = figure.querySelector("[data-say]");
    const count = view.chosen.filter(Boolean).length;
    if (pointed != null && !dragging) out.textContent = `${frame.names[pointed]}, ${stateText(frame, pointed)}: ${part.shown.map(({ column, scale }) => `${labelOf(column)} ${scale.text(column.values[pointed])}`).join(", ")}`;
    else out.textContent = view.filters.size ? `${count.toLocaleString("en-US")} of ${frame.ids.length.toLocaleString("en-US")} runs selected` : "Drag along an axis to select runs.";
    const reset = figure.querySelector("[data-all]");
    if (reset) reset.hidden = view.filters.size === 0;
  }

  // menu lists the axes: which are shown, in which order, and with which scale.
  function menu() {
    const list = figure.querySelector("[data-axes]");
    if (!list) return;
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    list.replaceChildren(...part.axes.map((axis, i) => {
      const { name } = axis.column;
      const box = html("input", { type: "checkbox", checked: axis.on, "data-key": `on ${name}` });
      box.addEventListener("change", () => { axis.on = box.checked; view.filters.delete(name); choose(); });
      const row = html("li", { class: "pc-axis-row" }, html("label", { class: "check grow" }, box, html("span", {}, name)));
      if (canLog(axis.column)) {
        const log = html("input", { type: "checkbox", checked: axis.log, "aria-label": `${name}, logarithmic`, "data-key": `log ${name}` });
        log.addEventListener("change", () => { axis.log = log.checked; choose(); });
        row.append(html("label", { class: "check tiny" }, log, "log"));
      }
      for (const [by, arrow, label] of [[-1, "←", "left"], [1, "→", "right"]]) {
        const button = html("button", { type: "button", class: "btn btn-s btn-quiet btn-icon", "aria-label": `Move ${name} ${label}`, "data-key": `${label} ${name}`, disabled: !part.axes[i + by] }, arrow);
        button.addEventListener("click", () => { [part.axes[i], part.axes[i + by]] = [part.axes[i + by], part.axes[i]]; choose(); });
        row.append(button);
      }
      return row;
    }));
    if (focused) [...list.querySelectorAll("[data-key]")].find((control) => control.dataset.key === focused)?.focus();
  }

  function choose() {
    view.link.axes = part.axes;
    part.draw();
    view.change();
  }

  figure.addEventListener("click", (event) => {
    if (event.target.closest("[data-all]")) { view.filters.clear(); view.change(); }
  });
  plot.addEventListener("pointermove", (event) => !dragging && view.point(nearest(event)));
  plot.addEventListener("pointerleave", () => view.point(null));
  plot.addEventListener("click", (event) => {
    if (event.target.closest("[data-control]")) return;
    const row = nearest(event);
    if (row != null) location.href = view.frame.urls + view.frame.ids[row];
  });

  const nearest = (event) => {
    const row = event.target.closest?.("[data-row]")?.dataset.row;
    return row == null ? null : Number(row);
  };
  return part;
}

const yOf = (share) => height - foot - share * (height - top - foot);
const fixed = (v) => Math.round(v * 10) / 10;
const shortened = (text) => text.length > 16 ? text.slice(0, 7) + "…" + text.slice(-8) : text;

// axesOf are the axes of a frame: the inputs that vary, then the objective. Choices of the
// reader stay when there are new values.
function axesOf(frame, before) {
  const old = new Map((before ?? []).map((axis) => [axis.column.name, axis]));
  const fresh = frame.columns.filter((column) => column.role !== "order").map((column) => {
    const known = old.get(column.name);
    return { column, on: known?.on ?? (column.role === "input" || column.role === "objective"), log: canLog(column) && Boolean(known?.log ?? column.log) };
  });
  if (!before) return [...fresh.filter((axis) => axis.column.role !== "objective"), ...fresh.filter((axis) => axis.column.role === "objective")];
  const place = new Map(before.map((axis, i) => [axis.column.name, i]));
  return fresh.sort((a, b) => (place.get(a.column.name) ?? 1e9) - (place.get(b.column.name) ?? 1e9));
}

// ranks are the shares of runs that are worse than each run; null for those without a value.
function ranks(objective) {
  if (!objective) return [];
  const sign = objective.better === "min" ? -1 : 1;
  const order = objective.values.map((v, row) => [v, row]).filter(([v]) => v != null).sort((a, b) => sign * (a[0] - b[0]));
  const out = objective.values.map(() => null);
  order.forEach(([, row], i) => { out[row] = order.length > 1 ? i / (order.length - 1) : 1; });
  return out;
}
