// The grid opens at its newest executions. Arrow keys move between the cells; only one cell is in the
// order of Tab.
export function setUp() {
  for (const grid of document.querySelectorAll("[data-grid]:not([data-ready])")) roam(grid);
}

function roam(grid) {
  grid.dataset.ready = "true";
  const cells = () => [...grid.querySelectorAll(".rg-cell")];
  let current = cells().at(-1);
  const choose = (cell) => {
    for (const other of cells()) other.tabIndex = other === cell ? 0 : -1;
    current = cell;
  };
  if (current) choose(current);
  grid.scrollLeft = grid.scrollWidth; // the newest executions are at the end
  grid.addEventListener("focusin", (event) => {
    const cell = event.target.closest(".rg-cell");
    if (cell && cell !== current) choose(cell);
  });
  grid.addEventListener("keydown", (event) => {
    const cell = event.target.closest(".rg-cell");
    const next = cell && neighbour(cell, event.key);
    if (!next) return;
    event.preventDefault();
    choose(next);
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

// neighbour is the next cell with a node in a direction.
function neighbour(cell, key) {
  let place = cell.closest("td");
  const column = place.cellIndex;
  const step = {
    ArrowLeft: () => place.previousElementSibling,
    ArrowRight: () => place.nextElementSibling,
    ArrowUp: () => place.parentElement.previousElementSibling?.cells[column],
    ArrowDown: () => place.parentElement.nextElementSibling?.cells[column],
  }[key];
  if (!step) return null;
  for (place = step(); place; place = step()) {
    const found = place.querySelector(".rg-cell");
    if (found) return found;
  }
  return null;
}
