// Columns of the table of executions are moved, pinned and resized with the pointer or the keyboard.
// The address contains their order, place and width; the server draws the page for it.
import { announce, showPage } from "./runpage.js";

let done = false;

export function setUp() {
  for (const table of document.querySelectorAll("[data-run-table]:not([data-ready])")) prepare(table);
  if (done) return;
  done = true;
  document.addEventListener("click", onTool);
  document.addEventListener("pointerdown", onGrab);
  document.addEventListener("keydown", onKey);
  document.addEventListener("dblclick", (event) => {
    const handle = event.target.closest?.(".grid-resize");
    if (handle) resizeTo(handle, 0);
  });
  setUpDrag();
}

function prepare(table) {
  table.dataset.ready = "";
  for (const head of heads(table)) head.draggable = true;
  for (const handle of table.querySelectorAll(".grid-resize")) {
    if (!handle.hasAttribute("aria-valuenow")) handle.setAttribute("aria-valuenow", Math.round(handle.parentElement.offsetWidth));
  }
  new ResizeObserver(() => place(table)).observe(table);
}

const heads = (table) => [...table.querySelectorAll("th[data-column]")];

// place tells each pinned column where it stays: behind the columns before it.
function place(table) {
  const row = table.tHead.rows[0];
  let start = row.querySelector(".pin-lead").offsetWidth;
  for (const [i, head] of [...row.querySelectorAll(".pin")].entries()) {
    table.style.setProperty(`--pin-${i + 1}`, `${start}px`);
    start += head.offsetWidth;
  }
}

// go shows the page of an address in place of this one and returns the focus to a column. A later
// call replaces an earlier one that waits for its page.
async function go(url, { column, tool, announcement }) {
  const inChooser = document.activeElement?.closest("#column-choice") !== null;
  const now = await showPage(url);
  if (!now) return;
  const inside = now.querySelector(`${inChooser ? "#column-choice" : "thead"} [data-column="${CSS.escape(column)}"]`);
  const focusTarget = inside?.querySelector(tool) ?? inside?.querySelector("[data-column-tool]:not([data-column-tool=drop])");
  (focusTarget ?? now.querySelector("#column-choice > summary"))?.focus({ preventScroll: Boolean(now.querySelector(".table-wrap")) && !inChooser });
  if (announcement) announce(announcement);
}

function onTool(event) {
  const link = event.target.closest?.("a[data-column-tool]");
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  const { column } = link.closest("[data-column]").dataset;
  go(link.href, { column, tool: `[data-column-tool="${link.dataset.columnTool}"]`, announcement: `${link.getAttribute("aria-label")}: done` });
}

// withEntries is the address with these columns, and with the charts beside the table.
function withEntries(table, entries) {
  const url = new URL(location.href);
  for (const name of ["after", "columns"]) url.searchParams.delete(name);
  url.searchParams.set("columns", [...entries, table.dataset.charts].filter(Boolean).join(","));
  return url;
}

const entriesOf = (table) => heads(table).map((head) => head.dataset.entry);

// resizeTo gives a column a width; 0 removes it.
function resizeTo(handle, width) {
  const head = handle.closest("th");
  const entries = entriesOf(head.closest("table")).map((entry) => {
    if (entry !== head.dataset.entry) return entry;
    const kept = entry.split("~").filter((part, i) => i === 0 || part === "pin").join("~");
    return width ? `${kept}~${width}` : kept;
  });
  const announcement = width ? `${head.dataset.column}: ${width} pixels wide` : `${head.dataset.column}: as wide as its values`;
  go(withEntries(head.closest("table"), entries), { column: head.dataset.column, tool: ".grid-resize", announcement });
}

const within = (handle, width) => Math.round(Math.min(Number(handle.ariaValueMax), Math.max(Number(handle.ariaValueMin), width)));

function onGrab(event) {
  const handle = event.target.closest?.(".grid-resize");
  if (!handle || event.button !== 0) return;
  event.preventDefault();
  handle.focus({ preventScroll: true });
  handle.setPointerCapture(event.pointerId);
  handle.dataset.active = "";
  const head = handle.closest("th");
  head.draggable = false; // a drag would end the capture
  const start = event.clientX, before = head.offsetWidth;
  let width = before;
  const move = (at) => {
    width = within(handle, before + (document.dir === "rtl" ? start - at.clientX : at.clientX - start));
    show(head, width);
  };
  const end = (at) => {
    handle.removeEventListener("pointermove", move);
    head.draggable = true;
    delete handle.dataset.active;
    if (at.type === "pointerup" && width !== before) resizeTo(handle, width);
    else if (width !== before) show(head, before);
  };
  handle.addEventListener("pointermove", move);
  handle.addEventListener("pointerup", end, { once: true });
  handle.addEventListener("pointercancel", end, { once: true });
}

// show draws a width before the server does.
function show(head, width) {
  const table = head.closest("table");
  if (!table.classList.contains("runs-sized")) {
    const widths = [...table.tHead.rows[0].cells].map((cell) => cell.offsetWidth);
    const group = document.createElement("colgroup");
    group.append(...widths.map((size) => Object.assign(document.createElement("col"), { width: size })));
    table.querySelector("caption").after(group);
    table.classList.add("runs-sized");
  }
  table.querySelectorAll("col")[head.cellIndex].width = width;
  head.querySelector(".grid-resize").setAttribute("aria-valuenow", width);
}

let pause = 0;

function onKey(event) {
  const handle = event.target.closest?.(".grid-resize");
  const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
  if (!handle || !step) return;
  event.preventDefault();
  const width = within(handle, Number(handle.getAttribute("aria-valuenow")) + step);
  show(handle.closest("th"), width);
  clearTimeout(pause);
  pause = setTimeout(() => resizeTo(handle, width), 400);
}

function setUpDrag() {
  let dragged = null;
  const target = (event) => {
    const head = event.target.closest?.("th[data-column]");
    return dragged && head && head !== dragged && head.closest("table") === dragged.closest("table") && isPinned(head) === isPinned(dragged) ? head : null;
  };
  const clear = () => {
    for (const head of document.querySelectorAll(".drop-before, .drop-after")) head.classList.remove("drop-before", "drop-after");
  };
  const isBefore = (event, head) => event.clientX < head.getBoundingClientRect().left + head.offsetWidth / 2;
  document.addEventListener("dragstart", (event) => {
    const head = event.target.closest?.("[data-run-table] th[data-column]");
    if (!head) return;
    dragged = head;
    head.classList.add("dragged");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", head.dataset.column);
  });
  document.addEventListener("dragover", (event) => {
    const head = target(event);
    clear();
    if (!head) return;
    event.preventDefault();
    head.classList.add(isBefore(event, head) ? "drop-before" : "drop-after");
  });
  document.addEventListener("drop", (event) => {
    const head = target(event);
    if (!head) return;
    event.preventDefault();
    const others = entriesOf(head.closest("table")).filter((entry) => entry !== dragged.dataset.entry);
    const at = others.indexOf(head.dataset.entry) + (isBefore(event, head) ? 0 : 1);
    others.splice(at, 0, dragged.dataset.entry);
    go(withEntries(head.closest("table"), others), { column: dragged.dataset.column, tool: ".sort", announcement: `${dragged.dataset.column}: column ${at + 1} of ${others.length}` });
  });
  document.addEventListener("dragend", () => {
    dragged?.classList.remove("dragged");
    dragged = null;
    clear();
  });
}

const isPinned = (head) => head.classList.contains("pin");
