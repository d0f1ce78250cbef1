// Names, tags and notes of executions are edited where they are shown. The server draws the field,
// checks the value, and draws the changed row or head.
import { announce } from "./runpage.js";
import { toast } from "./toast.js";

// from is what the editor came from. Its row or head can be drawn again, or leave the page, meanwhile.
let ready = false, box = null, from = null, before = "";

export function setUp() {
  if (ready) return;
  ready = true;
  document.addEventListener("click", onClick);
  document.addEventListener("pointerdown", (event) => box && !box.contains(event.target) && leave(), true);
}

function onClick(event) {
  const to = event.target.closest?.("[data-editor]");
  if (!to || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  edit(to);
}

const typed = () => box.querySelector("input:not([type=hidden]), textarea");

// edit opens the editor over the value.
async function edit(to) {
  const at = (to.closest("td") ?? to.parentElement).getBoundingClientRect();
  const origin = { part: to.closest("tr[id], header[id]")?.id, label: to.dataset.label, left: at.left + scrollX, top: at.top + scrollY };
  const response = await fetch(to.dataset.editor, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!response?.ok || response.redirected) {
    location.assign(to.href); // the server says why, or asks to sign in
    return;
  }
  const text = await response.text();
  close();
  from = origin;
  box = document.createElement("div");
  box.className = "label-editor";
  box.popover = "manual";
  box.addEventListener("submit", save);
  box.addEventListener("keydown", onKey);
  box.addEventListener("click", (click) => click.target.closest("[data-cancel]") && close(true));
  document.body.append(box);
  draw(text);
  before = typed().value;
  if (from.label === "note") typed().setSelectionRange(before.length, before.length);
  else typed().select();
}

// draw shows the form of the server at the value that it edits.
function draw(text) {
  const form = new DOMParser().parseFromString(text, "text/html").querySelector("form");
  box.replaceChildren(document.importNode(form, true));
  if (!box.matches(":popover-open")) box.showPopover();
  const start = Math.max(8, Math.min(from.left - scrollX, document.documentElement.clientWidth - box.offsetWidth - 8));
  const top = Math.max(8, Math.min(from.top - scrollY, innerHeight - box.offsetHeight - 8));
  box.style.left = `${start + scrollX}px`;
  box.style.top = `${top + scrollY}px`;
  typed().focus({ preventScroll: true });
}

function onKey(event) {
  if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    close(true);
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) event.target.form.requestSubmit();
}

// leave saves what was typed when the reader clicks elsewhere.
function leave() {
  if (typed().value === before) close();
  else box.querySelector("form").requestSubmit();
}

function close(focus) {
  box?.remove();
  box = null;
  if (focus) linkOf(from)?.focus({ preventScroll: true });
}

// linkOf is the link to the editor in what the page shows now.
const linkOf = ({ part, label }) => document.getElementById(part)?.querySelector(`[data-label="${label}"]`);

async function save(event) {
  event.preventDefault();
  const form = event.target, mine = box, origin = from;
  if (mine.hasAttribute("aria-busy")) return;
  mine.setAttribute("aria-busy", "true");
  const body = new URLSearchParams(new FormData(form)).toString();
  // A click on a link saves, and leaves the page. Browsers limit such requests to 64 KiB.
  const keepalive = body.length < 60_000;
  const response = await fetch(form.action, { method: "POST", body, keepalive, headers: { Accept: "text/html", "Content-Type": "application/x-www-form-urlencoded" } }).catch(() => null);
  mine.removeAttribute("aria-busy");
  if (response?.status === 422) {
    if (box === mine) draw(await response.text());
    else toast("The change was not saved, because the value is not valid.");
    return;
  }
  if (response?.status !== 204) { // such as the page to sign in
    toast("The change could not be saved. Try again.");
    return;
  }
  if (box === mine) close();
  await refresh(origin);
}

// refresh draws the changed part of the page again, and returns the focus to it.
async function refresh(origin) {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer) return; // the reader follows a link
  const page = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page && page.getElementById(origin.part);
  const target = document.getElementById(origin.part);
  if (!fresh || !target) {
    location.reload(); // such as a row that the query no longer finds
    return;
  }
  await htmx.swap({ sourceElement: target, target, text: fresh.outerHTML, swap: "outerMorph" });
  announce("Saved");
  if (document.activeElement === document.body) linkOf(origin)?.focus({ preventScroll: true });
}
