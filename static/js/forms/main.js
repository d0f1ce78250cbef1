// The launch form with JavaScript: it adds rows in place, completes references, uploads
// files in the background, and checks values while the user types. Without JavaScript
// every button submits the form and the server answers with the same page.
import { setUpRows } from "./rows.js";
import { enhanceCombos } from "./combos.js";
import { enhanceOptions, setUpOptions } from "./options.js";
import { setUpUploads } from "./uploads.js";
import { setUpNumbers } from "./numbers.js";
import { setUpDurations } from "./durations.js";
import { setUpServerButtons, replaceForm } from "./swap.js";
import { setUpDrafts } from "./drafts.js";
import { setUpDevelop } from "./develop.js";
import { setUpCheck } from "./check.js";
import { setUpCode } from "./code.js";
import { setUpSchedule } from "./schedule.js";
import { setUpRules, applyRules } from "./rules.js";

let done = false;

export function setUp() {
  const early = done ? null : changedEarly();
  enhance(document);
  if (done) return;
  done = true;
  setUpRows(enhance);
  setUpUploads();
  setUpNumbers();
  setUpDurations();
  setUpServerButtons(enhance);
  setUpCheck();
  setUpRules();
  setUpSchedule();
  setUpOptions();
  setUpCode();
  setUpDrafts((form, next) => replaceForm(form, next, enhance));
  setUpDevelop((form, next) => replaceForm(form, next, enhance));
  document.addEventListener("click", putValue);
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-version]")) event.target.form.querySelector("[name='$version']").click();
  });
  addEventListener("pageshow", (event) => event.persisted && renewKeys());
  early?.dispatchEvent(new Event("input", { bubbles: true }));
  const active = document.activeElement;
  if (active?.matches("[role=combobox]:not([autofocus])")) active.click(); // its first click came before this script
}

// changedEarly returns a control that was changed before this script ran.
function changedEarly() {
  const controls = document.querySelectorAll("[data-launch] :is(input, textarea)");
  return [...controls].find((control) => control.value !== control.defaultValue || control.checked !== control.defaultChecked);
}

// enhance initialises new parts of a form. It is idempotent.
function enhance(root) {
  enhanceCombos(root);
  enhanceOptions(root);
  applyRules();
  for (const list of root.querySelectorAll("datalist[id$='-zones']")) offerZones(list);
}

// Buttons that set the value of a control: Yesterday, Today.
function putValue(event) {
  const button = event.target.closest?.("[data-fill]");
  if (!button) return;
  const input = document.getElementById(button.dataset.fill);
  input.value = button.dataset.value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

function offerZones(list) {
  if (list.dataset.full || !Intl.supportedValuesOf) return;
  list.dataset.full = "true";
  const known = new Set([...list.options].map((option) => option.value));
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    if (!known.has(zone)) list.append(new Option("", zone));
  }
}

// A page restored from the back/forward cache counts as a new launch.
function renewKeys() {
  for (const input of document.querySelectorAll("input[name='$key']")) {
    input.value = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}
