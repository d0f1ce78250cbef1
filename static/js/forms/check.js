// Checks the values half a second after the last change and shows the result. The
// elements in the response replace those with the same id.

import { applyRules } from "./rules.js";

const pause = 500;

export function setUpCheck() {
  let timer = 0;
  let running = null;
  const later = (event) => {
    const form = event.target.closest?.("form");
    if (!form?.matches("[data-launch], :has([data-rules])")) return;
    if (event.target !== form) forgetDefaults(event.target);
    if (event.target.type === "file") return;
    clearTimeout(timer);
    running?.abort(); // its answer is about older values
    timer = setTimeout(() => {
      running = new AbortController();
      check(form, running.signal);
    }, pause);
  };
  document.addEventListener("input", later);
  document.addEventListener("change", later);
}

// forgetDefaults removes statements about the defaults that the change of a control may make
// untrue.
function forgetDefaults(control) {
  if (!control.name?.startsWith("inputs.")) return;
  for (const text of document.querySelectorAll("[data-defaults-note]")) text.remove();
  for (const text of control.closest(".hp")?.querySelectorAll("[data-hp-changed]") ?? []) text.remove();
}

async function check(form, signal) {
  const body = new FormData();
  for (const [name, value] of new FormData(form)) if (!(value instanceof File)) body.append(name, value);
  body.set("$panel", "1");
  try {
    const response = await fetch(form.action, { method: "POST", body, signal, headers: { Accept: "text/html" } });
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of page.querySelectorAll("[data-part]")) document.getElementById(part.id)?.replaceWith(document.importNode(part, true));
    applyRules({ checked: true });
  } catch {
    // A newer check replaced this one, or the network is down: the last result stays.
  }
}
