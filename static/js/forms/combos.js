// Turns controls into comboboxes: references, which the server completes, and selects
// with many options, which the page searches.
import { makeCombobox } from "./combobox.js";

export function enhanceCombos(root) {
  for (const box of root.querySelectorAll("[data-combo]:not([data-ready])")) completeReference(box);
  for (const select of root.querySelectorAll("select[data-search]:not([data-ready])")) searchSelect(select);
}

function completeReference(box) {
  if (box.dataset.combo === "") return;
  box.dataset.ready = "true";
  const input = box.querySelector("input");
  makeCombobox(input, {
    delay: 150,
    offer: async (query, { typed }) => {
      const html = await get(box.dataset.combo, { q: typed ? query : "" });
      return html === null ? null : parse(html);
    },
    take: (option) => {
      input.value = option.dataset.value;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    },
  });
  const preview = document.querySelector(`[data-preview][data-preview-of="${CSS.escape(input.id)}"]`);
  if (preview && preview.dataset.preview !== "") input.addEventListener("change", () => showPreview(input, preview));
}

async function showPreview(input, preview) {
  const html = await get(preview.dataset.preview, { ref: input.value.trim() });
  if (html !== null) preview.replaceChildren(...parse(html));
}

// searchSelect replaces a long select by an input with a list. The hidden select keeps
// the value and is submitted.
function searchSelect(select) {
  select.dataset.ready = "true";
  const box = document.createElement("div");
  box.className = "combo";
  const input = document.createElement("input");
  input.className = "input";
  for (const name of ["id", "aria-describedby", "aria-invalid", "aria-label"]) {
    const value = select.getAttribute(name);
    if (value !== null) input.setAttribute(name, value);
  }
  select.removeAttribute("id");
  const token = select.matches("[data-add-token]");
  input.placeholder = `Search ${select.options.length - 1} options`;
  input.value = select.value === "" ? "" : select.selectedOptions[0].textContent.trim();
  select.before(box);
  box.append(input, select);
  select.hidden = true;
  makeCombobox(input, {
    offer: (query) => matches(select, query),
    take: (option) => {
      select.value = option.dataset.value;
      input.value = token ? "" : option.textContent;
      select.dispatchEvent(new Event("change", { bubbles: true }));
    },
  });
  input.addEventListener("change", () => settle(select, input));
}

// settle selects the option that the typed text names, or restores the previous one.
function settle(select, input) {
  const text = input.value.trim().toLowerCase();
  const option = [...select.options].find((candidate) => candidate.textContent.trim().toLowerCase() === text);
  if (option && option.value !== "") select.value = option.value;
  else if (text === "" && select.querySelector("option[value='']")) select.value = "";
  input.value = select.value === "" ? "" : select.selectedOptions[0].textContent.trim();
}

function matches(select, query) {
  const needle = query.toLowerCase();
  const current = select.selectedOptions[0]?.textContent.trim().toLowerCase();
  const all = [...select.options].filter((option) => option.value !== "");
  const found = needle === current ? all : all.filter((option) => option.textContent.toLowerCase().includes(needle));
  const shown = found.slice(0, 50).map((option) => optionOf(option.textContent.trim(), option.value));
  if (shown.length === 0) {
    const none = optionOf(`No matches for “${query}”`, "");
    none.setAttribute("aria-disabled", "true");
    return [none];
  }
  return shown;
}

function optionOf(text, value) {
  const element = document.createElement("div");
  element.className = "option";
  element.setAttribute("role", "option");
  element.setAttribute("aria-selected", "false");
  element.dataset.value = value;
  element.textContent = text;
  return element;
}

async function get(address, params) {
  const url = new URL(address, location.href);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  try {
    const response = await fetch(url, { headers: { Accept: "text/html" } });
    return response.ok ? await response.text() : null;
  } catch {
    return null; // without a network the control stays a plain input
  }
}

const parse = (html) => new DOMParser().parseFromString(html, "text/html").body.children;
