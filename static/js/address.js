// Links and forms of a page were written before the reader changed what the address keeps.
//
// keepInLinks copies parameters of the address into each link to the same page, and each form that
// leads to it, when the reader uses it. applies says whether it is one of them.
export function keepInLinks(applies, linkKeys, formKeys = linkKeys) {
  document.addEventListener("click", (event) => {
    const to = event.target.closest?.("a[href]");
    if (!to || to.origin !== location.origin || to.pathname !== location.pathname || !applies(to)) return;
    const url = new URL(to.href), here = new URLSearchParams(location.search);
    for (const key of linkKeys) {
      url.searchParams.delete(key);
      for (const value of here.getAll(key)) url.searchParams.append(key, value);
    }
    to.href = url.href;
  }, true);
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "get" || new URL(form.action).pathname !== location.pathname || !applies(form)) return;
    const here = new URLSearchParams(location.search);
    for (const key of formKeys) {
      if ([...form.elements].some((field) => field.name === key && field.type !== "hidden")) continue; // the reader's choice
      for (const old of form.querySelectorAll(`input[type="hidden"][name="${key}"]`)) old.remove();
      for (const value of here.getAll(key)) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: key, value }));
    }
  }, true);
}
