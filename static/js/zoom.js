// An image in a frame that scrolls: zoom by buttons, keys and Ctrl with the wheel, pan by dragging.
const most = 16;

export function setUp() {
  for (const view of document.querySelectorAll("[data-zoom]:not([data-ready])")) {
    view.dataset.ready = "";
    const frame = view.querySelector("[data-zoom-frame]"), image = frame.querySelector("img");
    const begin = () => start(view, frame, image);
    if (image.complete && image.naturalWidth) begin();
    else image.addEventListener("load", begin, { once: true });
  }
}

function start(view, frame, image) {
  const whole = () => Math.min(1, frame.clientWidth / image.naturalWidth, Math.max(frame.clientHeight, 320) / image.naturalHeight);
  const state = { scale: 0 };
  const zoom = (scale, x, y) => {
    const box = frame.getBoundingClientRect(), before = image.width / image.naturalWidth;
    const dx = x === undefined ? frame.clientWidth / 2 : x - box.left, dy = y === undefined ? frame.clientHeight / 2 : y - box.top;
    const left = (frame.scrollLeft + dx) / before, top = (frame.scrollTop + dy) / before;
    state.scale = Math.min(most, Math.max(Math.min(whole(), 0.05), scale));
    image.width = Math.max(1, Math.round(image.naturalWidth * state.scale));
    image.toggleAttribute("data-pixels", state.scale >= 4);
    view.toggleAttribute("data-zoomed", true);
    frame.scrollTo(left * state.scale - dx, top * state.scale - dy);
    view.querySelector("[data-zoom-scale]").textContent = `${Math.round(state.scale * 100)} %`;
  };
  const acts = { in: () => zoom(state.scale * 1.25), out: () => zoom(state.scale / 1.25), fit: () => zoom(whole()), full: () => zoom(1) };
  view.addEventListener("click", (event) => acts[event.target.closest("[data-zoom-do]")?.dataset.zoomDo]?.());
  frame.addEventListener("keydown", (event) => {
    const act = { "+": "in", "=": "in", "-": "out", 0: "fit", 1: "full" }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[act]();
  });
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(state.scale * Math.exp(-event.deltaY * 0.004), event.clientX, event.clientY);
  }, { passive: false });
  let from = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    event.preventDefault();
    from = { x: event.clientX + frame.scrollLeft, y: event.clientY + frame.scrollTop };
    frame.setPointerCapture(event.pointerId);
    frame.focus();
  });
  frame.addEventListener("pointermove", (event) => { if (from) frame.scrollTo(from.x - event.clientX, from.y - event.clientY); });
  for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, () => { from = null; });
  acts.fit();
}
