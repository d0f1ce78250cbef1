// Lists the options of inputs whose author named a source. The server lists them for the values that
// the other inputs have now.
import { makeCombobox } from "./combobox.js";

export function enhanceOptions(root) {
  for (const box of root.querySelectorAll("[data-options]:not([data-options='']):not([data-ready])")) complete(box);
}

export function setUpOptions() {
  // What is said about a value does not hold for other values of the inputs that its options read.
  document.addEventListener("change", ({ target }) => {
    // The name of a form that has a field "name" is that field.
    if (typeof target.name !== "string" || !target.name.startsWith("inputs.")) return;
    for (const box of target.form?.querySelectorAll("[data-reads]:not([data-reads=''])") ?? []) {
      if (reads(box).some((name) => isBelow(target.name, name))) forget(box);
    }
  });
}

const reads = (box) => box.dataset.reads.split(" ").filter(Boolean);
const isBelow = (name, parent) => name === parent || name.startsWith(`${parent}.`);
const noteOf = (box) => box.querySelector("[data-option-note]"); // in the box, so that the open list is below it

function forget(box) {
  describe(box, "");
  noteOf(box).replaceChildren();
}

// describe shows the description of the value below its control.
function describe(box, text) {
  const about = box.parentElement.querySelector(":scope > [data-option-about]");
  about.textContent = text;
  about.hidden = text === "";
}

function complete(box) {
  box.dataset.ready = "true";
  const input = box.querySelector("input");
  let timer = 0;
  let failed = false; // the last request
  const combo = makeCombobox(input, {
    delay: 150,
    offer: async (query, { typed, after, again }) => {
      clearTimeout(timer);
      const parts = [...(await request(box, typed ? query : "", after, again))];
      const recovered = failed;
      failed = parts.some((part) => part.matches("[data-retry]"));
      if (recovered && !failed) input.dispatchEvent(new Event("change", { bubbles: true })); // the value can be checked now
      const note = parts.findIndex((part) => part.matches("[data-note]"));
      const [statusPart] = note < 0 ? [] : parts.splice(note, 1);
      noteOf(box).replaceChildren(...(statusPart?.childNodes ?? []));
      if (statusPart?.matches("[data-waits]")) timer = setTimeout(() => combo.reload(), 1500);
      return parts;
    },
    take: (option) => {
      input.value = option.dataset.value;
      describe(box, option.dataset.about);
      input.dispatchEvent(new Event("change", { bubbles: true }));
    },
  });
  input.addEventListener("input", () => describe(box, ""));
  const note = noteOf(box);
  note.addEventListener("click", ({ target }) => {
    if (!target.closest("[data-refresh]")) return;
    note.textContent = "Refreshing…";
    combo.renew();
  });
}

// request returns the elements of a page of options, or one that explains why there are none. With
// again, the server does not use a list that it has kept.
async function request(box, query, after, again) {
  const { form } = box.querySelector("input");
  const body = new FormData();
  for (const [name, value] of new FormData(form)) {
    const dependsOn = reads(box).some((parent) => isBelow(name, parent));
    if (dependsOn && !(value instanceof File)) body.append(name, value);
  }
  body.set("$input", box.dataset.input);
  body.set("$q", query);
  body.set("$after", after);
  if (again) body.set("$refresh", "1");
  try {
    const response = await fetch(box.dataset.options, { method: "POST", body, headers: { Accept: "text/html" } });
    if (response.ok) return parse(await response.text());
  } catch {
    // The network is down.
  }
  return parse("<div class='option option-failed' role='option' aria-selected='false' data-retry><span class='error'>The options could not be loaded.</span><span class='tiny'>Your value is kept.</span><span class='strong small'>Try again</span></div>");
}

const parse = (html) => new DOMParser().parseFromString(html, "text/html").body.children;
