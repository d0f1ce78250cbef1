// Buttons that need the server (move a row, reset, switch the view) fetch the same page
// and replace the form with the new one, so that the scroll position stays.

export function setUpServerButtons(enhance) {
  document.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (!event.target.matches("[data-launch]") || !button?.name.startsWith("$")) return;
    event.preventDefault();
    button.setAttribute("aria-busy", "true");
    const action = button.getAttribute("formaction") ?? event.target.action;
    const next = await answer(event.target, new FormData(event.target, button), action);
    if (!next) {
      event.target.requestSubmit(plainCopy(event.target, button));
      return;
    }
    replaceForm(event.target, next, enhance);
  });
}

// replaceForm replaces a form in place.
export function replaceForm(form, next, enhance) {
  const scroll = scrollY;
  form.replaceWith(next);
  const { address } = next.dataset;
  if (address && address !== form.dataset.address) {
    history.replaceState(history.state, "", address);
    next.dispatchEvent(new Event("moved", { bubbles: true }));
  }
  enhance(next);
  scrollTo({ top: scroll, behavior: "instant" });
  next.querySelector("[autofocus]")?.focus({ preventScroll: false });
  next.dispatchEvent(new Event("change", { bubbles: true }));
}

// answer returns the form that the server draws for these values, or null.
export async function answer(form, body, action = form.action) {
  try {
    const response = await fetch(action, { method: "POST", body, headers: { Accept: "text/html" } });
    if (response.redirected || !(response.headers.get("Content-Type") ?? "").startsWith("text/html")) return null;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const next = page.getElementById(form.id);
    return next && document.importNode(next, true);
  } catch {
    return null;
  }
}

// plainCopy returns a button that submits the form without JavaScript, with the same value.
function plainCopy(form, button) {
  const hidden = document.createElement("input");
  hidden.type = "hidden";
  hidden.name = button.name;
  hidden.value = button.value;
  const submit = document.createElement("button");
  submit.hidden = true;
  if (button.hasAttribute("formaction")) submit.setAttribute("formaction", button.getAttribute("formaction"));
  form.append(hidden, submit);
  return submit;
}
