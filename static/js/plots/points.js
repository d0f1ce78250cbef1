// Points of runs over two columns: a scatter plot, and the history of the best with its line.
// Shapes say the outcome of a run. The arrow keys go from point to point, and Enter opens one.
import { svg, html, mark, stateText } from "./draw.js";
import { canLog, labelOf, scaleOf } from "./scale.js";

const before = 52, after = 16, top = 12, foot = 26;

export function points(view, figure) {
  const plot = figure.querySelector("[data-plot]");
  const history = figure.hasAttribute("data-history");
  const part = { figure };
  let drawing = null, marks = [], order = [], x = null, y = null;
  for (const radio of figure.querySelectorAll("[data-order]")) if (radio.value === view.link.order) radio.checked = true;

  part.columns = () => [x, y].filter(Boolean);

  part.draw = () => {
    const { frame } = view;
    marks = [];
    order = [];
    controls();
    [x, y] = chosenColumns();
    if (!x || !y || !frame.ids.length) {
      plot.replaceChildren("No run has finished yet.");
      return;
    }
    const width = Math.max(220, plot.clientWidth), height = Math.round(Math.min(280, Math.max(190, width * 0.62)));
    const across = scaleOf(x, logOf("x", x)), up = scaleOf(y, logOf("y", y));
    const place = (scale, column, row, from, to) => {
      const share = scale.at(column.values[row]);
      return share == null ? null : Math.round(10 * (from + (0.02 + 0.96 * share) * (to - from))) / 10;
    };
    const focused = drawing?.contains(document.activeElement);
    drawing = svg("svg", { class: "chart pts", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", tabindex: "0", "aria-label": label() });
    drawing.append(axes(across, up, width, height));
    const group = svg("g", { class: "pts-marks", "aria-hidden": "true" });
    frame.ids.forEach((_, row) => {
      const px = place(across, x, row, before, width - after), py = place(up, y, row, height - foot, top);
      if (px == null || py == null) return;
      marks[row] = { x: px, y: py, element: markOf(row, px, py) };
      order.push(row);
    });
    for (const row of order) if (row !== frame.best) group.append(marks[row].element);
    if (history) group.append(bestLine(up, width));
    if (marks[frame.best]) group.append(marks[frame.best].element);
    order.sort((a, b) => marks[a].x - marks[b].x || marks[a].y - marks[b].y);
    drawing.append(group, svg("circle", { class: "pts-focus", r: 8, visibility: "hidden", "data-control": "" }));
    plot.replaceChildren(drawing);
    if (focused) drawing.focus({ preventScroll: true });
    part.choose();
  };

  const select = (name) => figure.querySelector(`[data-column="${name}"]`);
  const logOf = (name, column) => {
    const box = figure.querySelector(`[data-log="${name}"]`);
    return canLog(column) && (box ? box.checked : Boolean(column.log));
  };

  function chosenColumns() {
    const { frame } = view;
    const named = (name, other) => frame.columns.find((column) => column.name === select(name)?.value) ?? other ?? frame.columns[0];
    if (!history) return [named("x", frame.columns[firstInput(frame)]), named("y", frame.columns[frame.objective])];
    const orders = frame.columns.filter((c) => c.role === "order");
    return [orders.find((c) => c.name === figure.querySelector("[data-order]:checked")?.value) ?? orders[0], frame.columns[frame.objective]];
  }

  // controls fills the lists of columns, and offers a logarithmic scale where it is possible.
  function controls() {
    const { frame } = view;
    const input = firstInput(frame);
    for (const [name, first] of [["x", input], ["y", frame.objective]]) {
      const list = select(name);
      if (!list) continue;
      const from = view.link.columns[name];
      const chosen = list.value || from?.name;
      const fits = frame.columns;
      if ([...list.options].map((o) => o.value).join("\n") !== fits.map((c) => c.name).join("\n")) {
        list.replaceChildren(...fits.map((c) => html("option", { value: c.name }, labelOf(c))));
        list.value = fits.some((c) => c.name === chosen) ? chosen : frame.columns[Math.max(0, first)]?.name;
      }
      const box = figure.querySelector(`[data-log="${name}"]`);
      const column = frame.columns.find((c) => c.name === list.value);
      if (!box || !column) continue;
      if (box.dataset.of !== column.name) { box.checked = Boolean(from?.name === column.name ? from.log : column.log); box.dataset.of = column.name; }
      box.closest("label").hidden = !canLog(column);
    }
  }

  function axes(across, up, width, height) {
    const group = svg("g", { class: "pts-axes", "aria-hidden": "true" });
    const px = (share) => before + (0.02 + 0.96 * share) * (width - after - before), py = (share) => height - foot + (0.02 + 0.96 * share) * (top - height + foot);
    for (const v of up.ticks(5)) {
      const at = py(up.at(v));
      group.append(svg("line", { class: "gridline", x1: before, x2: width - after, y1: at, y2: at }), svg("text", { x: before - 6, y: at + 4, "text-anchor": "end" }, brief(up.text(v), 8)));
    }
    const room = Math.max(2, Math.floor((width - before - after) / 64));
    for (const v of across.ticks(room)) {
      const at = px(across.at(v));
      group.append(svg("line", { class: "axisline", x1: at, x2: at, y1: height - foot, y2: height - foot + 4 }), svg("text", { x: at, y: height - foot + 17, "text-anchor": "middle" }, brief(across.text(v), 11)));
    }
    group.append(svg("line", { class: "axisline", x1: before, x2: width - after, y1: height - foot, y2: height - foot }));
    return group;
  }

  function markOf(row, px, py) {
    const { frame } = view;
    const state = frame.states[row];
    const classes = (kind) => view.byRun || row === frame.best ? `${kind} ${mark(frame, row)}` : kind;
    const own = (kind) => ({ "data-row": row, class: classes(kind) });
    if (row === frame.best) return svg("path", { ...own("pt-best"), d: `M${px} ${py - 6}l6 10h-12z` });
    if (state === "SUCCEEDED") return svg("circle", { ...own("pt"), cx: px, cy: py, r: history && !view.byRun ? 2.5 : 4 });
    if (!["RUNNING", "PROPOSED", "PENDING", "PAUSED"].includes(state)) return svg("path", { ...own("pt-stop"), d: `M${px - 3} ${py - 3}l6 6m0-6l-6 6` });
    return svg("circle", { ...own("pt-live"), cx: px, cy: py, r: 3.5 });
  }

  // bestLine is the best value until each point, as steps. Failed and cancelled runs have no rank.
  function bestLine(up, width) {
    const sign = y.better === "min" ? -1 : 1;
    const rows = order.filter((row) => !["FAILED", "CANCELLED"].includes(view.frame.states[row])).sort((a, b) => x.values[a] - x.values[b]);
    let best = null, path = "", end = null;
    for (const row of rows) {
      if (best != null && sign * (y.values[row] - y.values[best]) <= 0) { end = marks[row].x; continue; }
      path += best == null ? `M${marks[row].x} ${marks[row].y}` : `H${marks[row].x}V${marks[row].y}`;
      best = row;
      end = marks[row].x;
    }
    const group = svg("g");
    if (best == null) return group;
    group.append(svg("path", { class: "line line-bold pts-line", d: `${path}H${end}` }));
    const right = end > width - after - 48;
    group.append(svg("text", { class: "end", x: right ? end : end + 6, y: right ? Math.max(10, marks[best].y - 8) : marks[best].y + 4, "text-anchor": right ? "end" : "start" }, up.text(y.values[best])));
    return group;
  }

  function label() {
    const { frame } = view;
    const best = frame.best != null && frame.best >= 0 ? `; best: ${frame.names[frame.best]}, ${scaleOf(y).text(y.values[frame.best])}` : "";
    return `${figure.dataset.name}: ${labelOf(y)} over ${labelOf(x)}, ${frame.ids.length} runs${best}. Use the arrow keys to move between runs.`;
  }

  part.choose = () => {
    for (const row of order) marks[row].element.toggleAttribute("data-off", !view.chosen[row]);
    part.point();
  };

  part.point = () => {
    const { frame, pointed } = view;
    const at = marks[pointed], ring = drawing?.querySelector(".pts-focus");
    if (ring) {
      ring.setAttribute("visibility", at ? "visible" : "hidden");
      if (at) {
        ring.setAttribute("cx", at.x);
        ring.setAttribute("cy", at.y);
        ring.setAttribute("class", `pts-focus ${mark(frame, pointed)}`);
      }
    }
    const out = figure.querySelector("[data-say]");
    if (!out) return;
    out.textContent = at ? `${frame.names[pointed]}, ${stateText(frame, pointed)}: ${labelOf(x)} ${scaleOf(x).text(x.values[pointed])}, ${labelOf(y)} ${scaleOf(y).text(y.values[pointed])}` : out.dataset.say ?? "";
  };

  figure.addEventListener("input", ({ target }) => {
    if (!target.matches("[data-column], [data-log], [data-order]") || !view.frame) return;
    if (target.dataset.column) delete view.link.columns[target.dataset.column]; // its scale is the usual one
    part.draw();
    if (history) view.link.order = figure.querySelector("[data-order]:checked")?.value;
    else for (const [name, column] of [["x", x], ["y", y]]) if (column) view.link.columns[name] = { name: column.name, log: logOf(name, column) };
    view.remember();
  });
  plot.addEventListener("pointermove", (event) => drawing && view.point(nearest(event)));
  plot.addEventListener("pointerleave", () => view.point(null));
  plot.addEventListener("click", () => open());
  plot.addEventListener("focusout", () => view.point(null));
  plot.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const reachable = order.filter((row) => view.chosen[row]);
    if (event.key === "Enter") return open();
    if (event.key === "Escape") return view.point(null);
    if (!reachable.length || !by && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    const at = reachable.indexOf(view.pointed);
    const next = event.key === "Home" ? 0 : event.key === "End" ? reachable.length - 1 : at < 0 ? (by > 0 ? 0 : reachable.length - 1) : Math.min(reachable.length - 1, Math.max(0, at + by));
    view.point(reachable[next]);
  });

  function open() {
    if (marks[view.pointed]) location.href = view.frame.urls + view.frame.ids[view.pointed];
  }

  // nearest is the run whose point is at most 14 pixels away from the pointer.
  function nearest(event) {
    const box = drawing.getBoundingClientRect();
    const at = [event.clientX - box.left, event.clientY - box.top];
    let found = null, least = 14;
    for (const row of order) {
      if (!view.chosen[row]) continue;
      const away = Math.hypot(marks[row].x - at[0], marks[row].y - at[1]);
      if (away < least) { least = away; found = row; }
    }
    return found;
  }
  return part;
}

const brief = (text, n) => text.length > n ? text.slice(0, n - 1) + "…" : text;

// firstInput is the column of the first input with numbers, or of the first input.
function firstInput({ columns }) {
  const numbers = columns.findIndex((c) => c.role === "input" && !c.categories);
  return numbers < 0 ? columns.findIndex((c) => c.role === "input") : numbers;
}
