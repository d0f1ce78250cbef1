// A range of a histogram is chosen with the pointer: it becomes the two bounds of the form, which is
// sent when the pointer is released. The fields of the form do the same with the keyboard.
export function setUp() {
  for (const plot of document.querySelectorAll("[data-brush]:not([data-ready])")) brush(plot);
}

function brush(plot) {
  plot.dataset.ready = "";
  const form = plot.closest("form"), mark = plot.querySelector(".histogram-brush");
  let start = null;
  const at = (event) => {
    const box = plot.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const show = (from, to) => {
    mark.setAttribute("x", `${from * 100}%`);
    mark.setAttribute("width", `${(to - from) * 100}%`);
    form.elements.from.value = from === 0 ? "" : valueAt(plot, from);
    form.elements.to.value = to === 1 ? "" : valueAt(plot, to);
  };
  plot.addEventListener("pointerdown", (event) => {
    start = at(event);
    plot.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  plot.addEventListener("pointermove", (event) => {
    if (start !== null) show(Math.min(start, at(event)), Math.max(start, at(event)));
  });
  plot.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const wide = Math.abs(at(event) - start) > 0.02;
    start = null;
    if (wide) form.requestSubmit();
    else clear(form, mark);
  });
  plot.addEventListener("pointercancel", () => {
    start = null;
    clear(form, mark);
  });
}

function clear(form, mark) {
  mark.setAttribute("width", "0");
  form.elements.from.value = form.elements.to.value = "";
}

// valueAt is the value at a part of the width, with as many digits as a reader needs.
function valueAt(plot, part) {
  const low = Number(plot.dataset.low), high = Number(plot.dataset.high);
  const value = "logarithmic" in plot.dataset ? low * (high / low) ** part : low + (high - low) * part;
  return String(Number(value.toPrecision(3)));
}
