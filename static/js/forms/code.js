// The launch as text: line numbers, links to a line, and copying what was edited.
import { toast } from "../toast.js";

export function setUpCode() {
  document.addEventListener("input", (event) => number(event.target));
  document.addEventListener("scroll", (event) => follow(event.target), { capture: true });
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("[data-code-line]");
    if (link) {
      event.preventDefault();
      goTo(Number(link.dataset.codeLine));
    }
    const button = event.target.closest?.("[data-copy-from]");
    if (button) {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copyFrom).value);
      toast("Copied");
    }
  });
}

const numbersOf = (area) => area.closest?.("[data-code-edit]")?.querySelector(".code-lines");

function number(area) {
  const numbers = numbersOf(area);
  if (!numbers) return;
  const count = area.value.split("\n").length;
  numbers.textContent = Array.from({ length: count }, (_, i) => i + 1).join("\n");
  follow(area);
}

function follow(area) {
  const numbers = area instanceof Element && numbersOf(area);
  if (numbers) numbers.scrollTop = area.scrollTop;
}

// goTo selects a line, so that the reader sees it and types there.
function goTo(line) {
  const area = document.querySelector("[data-code-edit] textarea");
  if (!area) return;
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  const height = area.scrollHeight / Math.max(lines.length, 1);
  area.scrollTop = Math.max(0, (line - 4) * height);
}
