// Checks the values half a second after the last change and shows the result. The
// elements in the response replace those with the same id.

import { applyRules } from "./rules.js";

const pause = 500;

export function setUpCheck() {
  const touched = new Set(); // controls that changed since the page was drawn
  let timer = 0;
  let running = null;
  const later = (event) => {
    const form = event.target.closest?.("form");
    if (!form?.matches("[data-launch], :has([data-rules])")) return;
    if (event.target !== form) forgetDefaults(event.target);
    touched.add(event.target);
    if (event.target.type === "file") return;
    clearTimeout(timer);
    running?.abort(); // its answer is about older values
    timer = setTimeout(() => {
      running = new AbortController();
      check(form, running.signal, touched);
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

async function check(form, signal, touched) {
  const body = new FormData();
  for (const [name, value] of new FormData(form)) if (!(value instanceof File)) body.append(name, value);
  body.set("$panel", "1");
  try {
    const response = await fetch(form.action, { method: "POST", body, signal, headers: { Accept: "text/html" } });
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of page.querySelectorAll("[data-part]")) document.getElementById(part.id)?.replaceWith(document.importNode(part, true));
    applyRules({ checked: true });
    settle(form, page, touched);
  } catch {
    // A newer check replaced this one, or the network is down: the last result stays.
  }
}

// settle removes the errors of corrected fields, and their lines in the summary. Errors of fields that
// the user has not changed stay, as the check does not know all of them.
function settle(form, page, touched) {
  const wrong = new Set([...page.querySelectorAll(".verdict a[href^='#']")].map((link) => link.hash.slice(1)));
  const corrected = (area) => [...touched].some((control) => area.contains(control)) && ![area, ...area.querySelectorAll("[id]")].some((part) => wrong.has(part.id));
  const summary = form.querySelector(".error-summary:has(li)");
  for (const link of summary?.querySelectorAll("li a") ?? []) {
    const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    const area = target?.closest(".field, .many-edit") ?? target;
    if (area && corrected(area)) link.closest("li").remove();
  }
  for (const field of form.querySelectorAll(".field-error")) {
    if (!corrected(field)) continue;
    field.classList.remove("field-error");
    for (const message of field.querySelectorAll(".error")) message.remove();
    for (const control of field.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  }
  if (!summary) return;
  const left = summary.querySelectorAll("li").length;
  if (!left) return summary.remove();
  const title = summary.querySelector("h2").lastChild;
  title.data = title.data.replace(/\d+ values? needs? attention/, `${left} ${left === 1 ? "value needs" : "values need"} attention`);
}
