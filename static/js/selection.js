// Selects rows of a table: a checkbox in its head selects all rows, and Shift extends the selection
// from the row that was selected last.
let done = false;
let last = null; // the checkbox that was clicked last

export function setUp() {
  if (!done) {
    done = true;
    document.addEventListener("click", extend);
    document.addEventListener("change", changed);
    document.addEventListener("runpage", show);
    document.addEventListener("htmx:after:swap", show);
  }
  show();
}

const boxes = (table) => [...table.querySelectorAll("tbody input[type=checkbox][name=id]")];
const tableOf = (box) => box.closest("table:has([data-select-all])");

// extend gives the rows between two clicks the state of the second. The change event follows the click.
function extend({ target, shiftKey }) {
  const table = target.matches?.("tbody input[name=id]") && tableOf(target);
  if (!table) return;
  const all = boxes(table), from = all.indexOf(last), to = all.indexOf(target);
  if (shiftKey && from >= 0) {
    for (const box of all.slice(Math.min(from, to), Math.max(from, to) + 1)) box.checked = target.checked;
  }
  last = target;
}

function changed({ target }) {
  const all = target.matches("[data-select-all]") && boxes(tableOf(target));
  if (all) {
    for (const box of all) box.checked = target.checked;
    all.at(-1)?.dispatchEvent(new Event("change", { bubbles: true })); // the charts follow the rows
  }
  if (all || target.name === "id") show();
}

// show marks how many rows are selected.
function show() {
  for (const head of document.querySelectorAll("[data-select-all]")) {
    const all = boxes(tableOf(head)), selected = all.filter((box) => box.checked).length;
    head.checked = selected > 0 && selected === all.length;
    head.parentElement.hidden = !all.length; // closed groups have no rows
    head.indeterminate = selected > 0 && selected < all.length;
    const count = head.form?.querySelector("[data-selected]");
    const text = `${selected} selected`;
    if (count && count.textContent !== text) count.textContent = text;
  }
}
