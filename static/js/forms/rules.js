// Shows, requires and limits fields while the user types, as the rules of the form say. The server
// decides again at each check, and its answer replaces what the browser found. Hidden fields keep
// their controls, so nothing that was typed is lost. The form tells the server which fields are
// hidden, so that it launches only what the user sees.
import { parse } from "./expression.js";

class Unread extends Error {} // the value of a control that only the server reads

let compiled = { text: "", fields: [] };

export function setUpRules() {
  // The name of a form can be its field "name".
  const changed = (event) => event.target.getAttribute?.("name")?.startsWith("inputs.") && applyRules({ typing: true });
  document.addEventListener("input", changed);
  document.addEventListener("change", changed);
}

// applyRules draws the fields anew. While the user types, what only the server reads stays. The states
// of the server apply to the values that it checked, and to those that it drew.
export function applyRules({ typing = false, checked = false } = {}) {
  const source = document.querySelector("[data-rules]");
  if (!source) return;
  const form = source.closest("form");
  const serverStates = JSON.parse(document.getElementById("form-states")?.dataset.states ?? "{}");
  const settled = checked || (!typing && asDrawn(form));
  const values = new Map();
  const hidden = new Set(form.elements.$hidden.value.split(",").filter(Boolean));
  for (const field of compile(source.dataset.rules)) {
    const known = typing ? null : (serverStates[field.name] ?? null);
    const state = !field.rules ? {} : settled ? known : evaluate(field, values, known);
    values.set(field.name, state === null ? Unread : valueOf(form, field, state));
    if (!field.rules || state === null) continue;
    draw(field, state);
    if (state.hidden) hidden.add(field.name);
    else hidden.delete(field.name);
  }
  form.elements.$hidden.value = [...hidden].sort().join(",");
}

// asDrawn reports whether the controls have the values with which the server drew them.
function asDrawn(form) {
  return [...form.elements].filter((control) => control.name.startsWith("inputs.")).every((control) => {
    if (control.type === "checkbox" || control.type === "radio") return control.checked === control.defaultChecked;
    if (control.options) return control.selectedIndex === Math.max(0, [...control.options].findLastIndex((option) => option.defaultSelected));
    return control.value === control.defaultValue;
  });
}

function compile(text) {
  if (compiled.text === text) return compiled.fields;
  const fields = JSON.parse(text);
  for (const field of fields) {
    field.parsed = Object.entries(field.rules ?? {}).map(([key, rule]) => [key, parse(rule)]);
  }
  compiled = { text, fields };
  return fields;
}

// evaluate returns the state of a field; if only the server can evaluate it, its state in serverStates.
function evaluate(field, values, serverStates) {
  const read = (name) => {
    const value = values.has(name) ? values.get(name) : Unread;
    if (value === Unread) throw new Unread();
    return value;
  };
  const state = {};
  for (const [key, rule] of field.parsed) {
    try {
      if (!rule) throw new Unread();
      set(state, key, rule(read));
    } catch (error) {
      if (error instanceof Unread) return serverStates;
    }
    if (state.hidden) break;
  }
  return state;
}

function set(state, key, value) {
  if (key === "show_if") state.hidden = value === false;
  else if (key === "required_if") state.required = value === true;
  else if (key === "options") state.options = Array.isArray(value) ? value : undefined;
  else state[key] = value ?? undefined;
}

// valueOf is the value that the server would read from a control, null without a valid one.
function valueOf(form, field, state) {
  const initial = field.default ?? null;
  const otherwise = field.optional ? null : initial;
  if (state.hidden) return ["List", "Map", "Struct", "Union", "HyperparameterSet", "JSON"].includes(field.kind) ? Unread : initial;
  const varies = CSS.escape(`sweep.on.${field.name}`);
  if (form.querySelector(`[name="${varies}"]:checked, [name^="${varies}."]:checked`)) return Unread; // each run has its own
  const controls = [...form.querySelectorAll(`[name="${CSS.escape(`inputs.${field.name}`)}"]`)];
  const [first] = controls;
  if (!first) return Unread;
  const text = (first.type === "radio" ? controls.find((c) => c.checked)?.value : first.value) ?? "";
  switch (field.kind) {
    case "Boolean":
      if (first.type === "checkbox") return first.checked;
      return text === "" ? otherwise : text === "true";
    case "Integer":
    case "Float": {
      const value = Number(text);
      return text.trim() === "" ? otherwise : Number.isFinite(value) ? value : null;
    }
    case "Enum":
      return text === "" ? otherwise : (field.options.find((o) => String(o) === text) ?? null);
    case "String":
    case "Text":
      return text === "" && (state.required || !field.blank) ? null : text;
    case "Date":
      return text === "" ? otherwise : text;
  }
  return Unread;
}

function draw(field, state) {
  const box = document.querySelector(`[data-field="${CSS.escape(field.name)}"]`);
  if (!box) return;
  box.hidden = state.hidden === true;
  const optional = box.querySelector("[data-optional]");
  if (optional) {
    optional.hidden = state.required === true;
    for (const control of box.querySelectorAll(`[name="${CSS.escape(`inputs.${field.name}`)}"]:not([type=radio])`)) {
      if (state.required) control.setAttribute("aria-required", "true");
      else control.removeAttribute("aria-required");
    }
  }
  const none = box.querySelector("input[type=radio][value='']");
  if (none) none.closest("label").hidden = state.required === true;
  const bounds = box.querySelector("[data-bounds]");
  if (bounds) {
    bounds.textContent = sentence(state);
    bounds.hidden = bounds.textContent === "";
  }
  if (field.rules.options) limit(box, state.options);
}

function sentence({ min, max }) {
  if (min !== undefined && max !== undefined) return `With these values: ${min} to ${max}.`;
  if (min !== undefined) return `With these values: at least ${min}.`;
  return max === undefined ? "" : `With these values: at most ${max}.`;
}

// limit hides the options that are not possible; the chosen one stays with its message.
function limit(box, options) {
  const possible = options && new Set(options.map(String));
  for (const option of box.querySelectorAll("option")) option.hidden = Boolean(possible && option.value && !option.selected && !possible.has(option.value));
  for (const radio of box.querySelectorAll("input[type=radio]:not([value=''])")) {
    radio.closest("label").hidden = Boolean(possible && !radio.checked && !possible.has(radio.value));
  }
}
