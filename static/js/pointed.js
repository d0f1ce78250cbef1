// The execution that the reader points at. Rows, legends, curves and drawings of a page highlight it
// together.
let pointed = null;
const watchers = new Set();

export const pointedRun = () => pointed;

// watchRun calls a function with the source of each change.
export const watchRun = (watcher) => watchers.add(watcher);

// pointAt highlights an execution; null highlights none.
export function pointAt(run, source) {
  if (run === pointed) return;
  pointed = run;
  for (const marked of document.querySelectorAll("[data-run][data-on]")) marked.removeAttribute("data-on");
  if (run) for (const marked of document.querySelectorAll(`[data-run="${run}"]`)) marked.setAttribute("data-on", "");
  for (const watcher of watchers) watcher(source);
}

// Drawings of runs find the run under the pointer themselves.
function pointing({ target }) {
  if (!target.closest?.("[data-plots] [data-plot]")) pointAt(target.closest?.("[data-run]")?.dataset.run ?? null);
}

document.addEventListener("pointerover", pointing);
document.addEventListener("focusin", pointing);
