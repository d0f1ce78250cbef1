// Keeps the values of a launch form in the tab, so that leaving the page, going back after a
// launch and reloading lose nothing. Passwords and files are not kept. A launched form returns
// only by going back; a form that was left returns whenever its address is opened again.
import { answer } from "./swap.js";

const keyOf = ({ pathname, search }) => `launch:${pathname}${search}`;
let key = keyOf(location);
let first = null; // the values that the server sent

export function setUpDrafts(replace) {
  const form = document.querySelector("[data-launch]");
  if (!form) return;
  first = JSON.stringify(valuesOf(form));
  restore(form, replace);
  const keep = (event) => event.target.closest?.("[data-launch]") && save(event.target.closest("[data-launch]"), false);
  document.addEventListener("input", keep);
  document.addEventListener("change", keep);
  document.addEventListener("moved", () => {
    sessionStorage.removeItem(key); // the same values, at another address
    key = keyOf(location);
    first = null;
  });
  document.addEventListener("submit", (event) => {
    if (event.target.matches("[data-launch]") && !event.submitter?.name.startsWith("$")) save(event.target, true);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-defaults]");
    if (link) for (const kept of [key, keyOf(link)]) sessionStorage.removeItem(kept);
  });
}

// valuesOf lists the values of a form, except the key of its launch.
function valuesOf(form) {
  const secret = new Set([...form.querySelectorAll("input[type=password]")].map((input) => input.name));
  return [...new FormData(form)].filter(([name, value]) => typeof value === "string" && name !== "$key" && !secret.has(name));
}

function save(form, launched) {
  const values = valuesOf(form);
  if (launched) sessionStorage.setItem("launched", key);
  if (!launched && JSON.stringify(values) === first) sessionStorage.removeItem(key);
  else sessionStorage.setItem(key, JSON.stringify({ launched, values }));
}

// restore asks the server for the form with the kept values. A form with errors was not
// launched, and already has what the user typed. Its address is the one to which the form was
// sent, so its values stay under the address at which the user opened it.
async function restore(form, replace) {
  if (form.querySelector(".error-summary")) {
    key = sessionStorage.getItem("launched") ?? key;
    first = null;
    save(form, false);
    return;
  }
  const kept = JSON.parse(sessionStorage.getItem(key) ?? "null");
  if (!kept) return;
  const [navigation] = performance.getEntriesByType("navigation");
  if (kept.launched && navigation?.type !== "back_forward") {
    sessionStorage.removeItem(key);
    return;
  }
  const body = new FormData();
  for (const [name, value] of kept.values) body.append(name, value);
  body.set("$key", form.elements.$key.value);
  body.set("$view", body.get("$mode"));
  body.set("$restored", "1");
  form.inert = true; // what is typed now would be replaced
  const next = await answer(form, body);
  form.inert = false;
  if (next && form.isConnected) replace(form, next);
}
