// The frame of a graph: zoom, fit, pan, minimap, search and full screen. The frame
// scrolls as it does without JavaScript; zooming changes the size of the drawing in it,
// so scroll bars, keyboard and touch keep working.
const least = 0.1, most = 2.5, mapWidth = 176, mapHeight = 120, lowest = 200, legible = 0.7, margin = 16;

const states = new WeakMap(); // by view

export function setUpView(view) {
  const frame = view.querySelector(".dag-wrap"), svg = view.querySelector(".dag");
  if (!frame || !svg) return;
  const size = svg.viewBox.baseVal;
  const state = { frame, svg, size, view, scale: svg.getBoundingClientRect().width / size.width || 1, touched: svg.classList.contains("dag-full") };
  states.set(view, state);
  if (frame.clientHeight) frame.style.blockSize = `${frame.offsetHeight}px`;
  svg.classList.remove("dag-fit", "dag-fit-wide", "dag-full");
  resize(state, state.scale);
  if (view.hasAttribute("data-dag-around")) fitAround(state);
  setUpButtons(state);
  setUpPan(state);
  setUpMap(state);
  setUpSearch(state);
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(state, state.scale * Math.exp(-event.deltaY * 0.004), event.clientX, event.clientY);
  }, { passive: false });
  frame.addEventListener("keydown", (event) => {
    const act = { "+": "in", "=": "in", "-": "out", 0: "fit" }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    perform(state, act);
  });
  new ResizeObserver(() => { if (!state.touched) fit(state, 0.5); else drawMap(state); }).observe(frame);
}

function setUpButtons(state) {
  state.view.querySelector(".dag-tools")?.addEventListener("click", (event) => {
    const act = event.target.closest("[data-dag-do]")?.dataset.dagDo;
    if (act) perform(state, act);
  });
}

// One listener serves all views, because views are replaced while the page stays.
document.addEventListener("fullscreenchange", () => {
  for (const view of document.querySelectorAll("[data-dag]")) {
    const state = states.get(view);
    if (!state) continue;
    const on = document.fullscreenElement?.contains(view) ?? false;
    view.querySelector("[data-dag-do=full]")?.setAttribute("aria-pressed", String(on));
    requestAnimationFrame(() => fit(state, on ? least : 0.5));
  }
});

function perform(state, act) {
  if (act === "fit") { fit(state, least); state.touched = true; }
  if (act === "in") zoom(state, state.scale * 1.25);
  if (act === "out") zoom(state, state.scale / 1.25);
  if (act !== "full") return;
  if (document.fullscreenElement) document.exitFullscreen();
  else (state.view.closest("[data-dag-screen]") ?? state.view).requestFullscreen?.();
}

// fit shows the whole drawing, at a scale from smallest to 1.
function fit(state, smallest) {
  const { frame, size } = state;
  if (!frame.clientWidth) return;
  const whole = document.fullscreenElement || smallest === least ? Math.min(frame.clientWidth / size.width, frame.clientHeight / size.height) : frame.clientWidth / size.width;
  resize(state, Math.max(smallest, Math.min(1, whole)));
}

// fitAround shows the whole drawing if it stays legible, or else the current box and the columns
// next to it.
function fitAround(state) {
  const { frame, svg, size } = state, current = svg.querySelector(".node[aria-current] .node-box")?.getBBox();
  if (!current || !frame.clientWidth) return;
  const whole = Math.min(frame.clientWidth / size.width, frame.clientHeight / size.height);
  if (whole >= legible) {
    resize(state, Math.min(1, whole));
    state.touched = true;
    return;
  }
  const boxes = [...svg.querySelectorAll(".node-box")].map((box) => box.getBBox());
  const before = boxes.filter((box) => box.x < current.x).map((box) => box.x), after = boxes.filter((box) => box.x > current.x).map((box) => box.x + box.width);
  const left = before.length ? Math.max(...before) : current.x, right = after.length ? Math.min(...after) : current.x + current.width;
  resize(state, Math.max(legible, Math.min(1, frame.clientWidth / (right - left + 2 * margin))));
  state.touched = true;
  frame.scrollTo(((left + right) / 2) * state.scale - frame.clientWidth / 2, (current.y + current.height / 2) * state.scale - frame.clientHeight / 2);
}

// zoom keeps the point at (x, y) of the window in place, or the centre of the frame if no
// point is given.
function zoom(state, scale, x, y) {
  const { frame } = state, box = frame.getBoundingClientRect(), before = state.scale;
  const dx = x === undefined ? frame.clientWidth / 2 : x - box.left, dy = y === undefined ? frame.clientHeight / 2 : y - box.top;
  const left = (frame.scrollLeft + dx) / before, top = (frame.scrollTop + dy) / before;
  state.touched = true;
  resize(state, scale);
  frame.scrollTo(left * state.scale - dx, top * state.scale - dy);
}

function resize(state, scale) {
  const { svg, size, frame, view } = state;
  state.scale = Math.min(most, Math.max(least, scale));
  svg.setAttribute("width", size.width * state.scale);
  svg.setAttribute("height", size.height * state.scale);
  const shown = view.querySelector("[data-dag-scale]");
  if (shown) shown.textContent = `${Math.round(state.scale * 100)} %`;
  frame.toggleAttribute("data-can-pan", frame.scrollWidth > frame.clientWidth || frame.scrollHeight > frame.clientHeight);
  drawMap(state);
}

function setUpPan({ frame }) {
  let from = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0 || event.target.closest("a") || !frame.hasAttribute("data-can-pan")) return;
    from = { x: event.clientX + frame.scrollLeft, y: event.clientY + frame.scrollTop };
    frame.setPointerCapture(event.pointerId);
    frame.setAttribute("data-panning", "");
  });
  frame.addEventListener("pointermove", (event) => { if (from) frame.scrollTo(from.x - event.clientX, from.y - event.clientY); });
  for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, () => { from = null; frame.removeAttribute("data-panning"); });
}

// The minimap shows the state of every box and the visible part of the drawing.
function setUpMap(state) {
  const map = state.view.querySelector("[data-dag-map]");
  if (!map) return;
  const { frame, svg, size } = state;
  state.map = map;
  map.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  const k = Math.min(mapWidth / size.width, mapHeight / size.height);
  map.setAttribute("width", size.width * k);
  map.setAttribute("height", size.height * k);
  const move = (event) => {
    const box = map.getBoundingClientRect();
    frame.scrollTo(((event.clientX - box.left) / box.width) * size.width * state.scale - frame.clientWidth / 2,
      ((event.clientY - box.top) / box.height) * size.height * state.scale - frame.clientHeight / 2);
  };
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); move(event); });
  map.addEventListener("pointermove", (event) => { if (event.buttons) move(event); });
  frame.addEventListener("scroll", () => drawWindow(state), { passive: true });
  let due = 0;
  new MutationObserver(() => { due ||= requestAnimationFrame(() => { due = 0; drawMap(state); }); })
    .observe(svg, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-state"] });
  drawMap(state);
}

function drawMap(state) {
  const { map, svg, frame } = state;
  if (!map) return;
  map.toggleAttribute("hidden", !frame.hasAttribute("data-can-pan") || frame.clientHeight < lowest); // in a low frame it would cover boxes
  if (map.hasAttribute("hidden")) return;
  const boxes = [...svg.querySelectorAll(".node")].map((node) => {
    const rect = node.querySelector(".node-box").cloneNode();
    rect.removeAttribute("class");
    rect.dataset.state = node.dataset.state;
    return rect;
  });
  const here = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  here.setAttribute("class", "dag-window");
  map.replaceChildren(...boxes, here);
  drawWindow(state);
}

function drawWindow({ map, frame, scale, size }) {
  const here = map?.querySelector(".dag-window");
  if (!here) return;
  const wide = Math.min(size.width, frame.clientWidth / scale), high = Math.min(size.height, frame.clientHeight / scale);
  const at = { x: frame.scrollLeft / scale, y: frame.scrollTop / scale, width: wide, height: high };
  for (const [name, value] of Object.entries(at)) here.setAttribute(name, value);
}

// The search highlights the boxes whose name contains the text; Enter moves to the next.
function setUpSearch({ view, svg, frame }) {
  const input = view.querySelector("[data-dag-find]"), found = view.querySelector("[data-dag-found]"), list = view.querySelector("[data-dag-list]");
  if (!input) return;
  let hits = [], at = -1;
  const name = (node) => (node.querySelector(".node-name title") ?? node.querySelector(".node-name")).textContent.trim().toLowerCase();
  input.addEventListener("input", () => {
    const text = input.value.trim().toLowerCase();
    hits = text ? [...svg.querySelectorAll(".node")].filter((node) => name(node).includes(text)) : [];
    at = -1;
    for (const node of svg.querySelectorAll("[data-match]")) node.removeAttribute("data-match");
    for (const node of hits) node.setAttribute("data-match", "");
    svg.toggleAttribute("data-searching", hits.length > 0);
    found.textContent = !text ? "" : hits.length ? `${hits.length} found` : "No matches";
    if (hits.length) show(0, false);
    if (!list) return;
    list.hidden = !text || hits.length > 0;
    const url = new URL(list.href);
    url.searchParams.set("nodes", input.value.trim());
    list.href = url;
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && input.value) { input.value = ""; input.dispatchEvent(new Event("input")); event.preventDefault(); }
    if (event.key !== "Enter" || !hits.length) return;
    event.preventDefault();
    if (hits.length === 1) hits[0].focus?.({ preventScroll: true });
    show((at + (event.shiftKey ? hits.length - 1 : 1)) % hits.length, true);
  });
  const show = (i, count) => {
    at = count ? i : -1;
    if (count) found.textContent = `${i + 1} of ${hits.length}`;
    const box = hits[i].querySelector(".node-box").getBoundingClientRect(), window = frame.getBoundingClientRect();
    frame.scrollBy(box.left + box.width / 2 - window.left - window.width / 2, box.top + box.height / 2 - window.top - window.height / 2);
  };
}
