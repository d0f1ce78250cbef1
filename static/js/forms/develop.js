// Reloads the form of a development version when its author saves another one. The values and
// the focus stay.
import { answer } from "./swap.js";
import { toast } from "../toast.js";

export function setUpDevelop(replace) {
  let busy = false;
  document.addEventListener("htmx:after:swap", async () => {
    if (busy) return;
    busy = true;
    for (let next = saved(); next; next = saved()) {
      if (!(await reload(next, replace))) {
        toast("The new version could not be shown. Reload the page.");
        return; // and stop, because the next attempt would fail, too
      }
    }
    busy = false;
  });
}

// saved returns the saved version if the form shows another one.
function saved() {
  const form = document.querySelector("[data-launch]");
  const version = form?.querySelector("[data-develop]")?.dataset.develop;
  return version && version !== form.elements.$shown.value ? version : "";
}

async function reload(version, replace) {
  const form = document.querySelector("[data-launch]");
  const body = new FormData(form);
  body.set("version", version);
  body.set("$version", "1");
  const next = await answer(form, body);
  if (!next || next.elements.$shown.value === form.elements.$shown.value) return false;
  const focused = document.activeElement;
  const { id, selectionStart: start, selectionEnd: end } = focused ?? {};
  replace(form, next);
  const field = id && next.contains(document.getElementById(id)) ? document.getElementById(id) : null;
  field?.focus({ preventScroll: true });
  if (field?.setSelectionRange && start != null) field.setSelectionRange(start, end);
  return true;
}
