// Completes the query of a list of executions at the cursor: names, operators and values, which
// the server suggests. Tab takes the first suggestion, or the one that the arrow keys chose.
import { makeCombobox } from "./forms/combobox.js";

export function setUp() {
  for (const box of document.querySelectorAll("[data-complete]:not([data-ready])")) complete(box);
}

function complete(box) {
  box.dataset.ready = "true";
  const input = box.querySelector("input");
  showMistake(input);
  const status = document.createElement("span");
  status.className = "vh";
  status.setAttribute("role", "status");
  box.append(status);
  makeCombobox(input, {
    delay: 120,
    tab: true,
    offer: async () => {
      const found = await suggestions(box.dataset.complete, input.value.slice(0, input.selectionStart));
      const count = found === null ? 0 : [...found].filter((option) => option.dataset.text).length;
      status.textContent = count === 1 ? "1 suggestion" : `${count} suggestions`;
      return found;
    },
    take: (option) => {
      insert(input, Number(option.dataset.from), option.dataset.text);
      return true; // what can follow is suggested next
    },
  });
}

// insert replaces the piece of the query at the cursor, also its part behind the cursor.
function insert(input, from, text) {
  const behind = input.value.slice(input.selectionStart).replace(/^[^\s()"',=<>!~:]+/, "");
  const before = input.value.slice(0, from) + text;
  input.value = before + (before.endsWith(" ") ? behind.replace(/^ /, "") : behind);
  input.setSelectionRange(before.length, before.length);
}

// showMistake selects the part of the query that the server could not read.
function showMistake(input) {
  if (!input.dataset.mistake) return;
  const [from, to] = input.dataset.mistake.split(" ").map(Number);
  input.focus();
  input.setSelectionRange(from, to);
}

async function suggestions(address, before) {
  const url = new URL(address, location.href);
  url.searchParams.set("before", before);
  try {
    const response = await fetch(url, { headers: { Accept: "text/html" } });
    if (!response.ok) return null;
    return new DOMParser().parseFromString(await response.text(), "text/html").body.children;
  } catch {
    return null; // without a network the control stays a plain input
  }
}
