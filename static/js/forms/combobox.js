// A combobox as in the ARIA pattern: the focus stays in the input and
// aria-activedescendant names the active option. offer(query, { typed, after, again }) returns the
// options; take(option) returns true to offer the next ones. An option with data-more is replaced by the
// options after that mark, and one with data-retry loads the list again. With tab, Tab takes the active
// or the first option of what was typed.

let count = 0;

export function makeCombobox(input, { offer, take, delay = 0, tab = false }) {
  const list = document.createElement("div");
  list.className = "listbox";
  list.id = `listbox-${++count}`;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  input.after(list);
  input.removeAttribute("list");
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list", autocomplete: "off",
  })) input.setAttribute(name, value);

  let at = -1;
  let timer = 0;
  let requests = 0;
  let loading = false; // the list does not show the options of the input's text yet
  let typed = false; // since the control got the focus, or an option was taken
  let waiting = []; // what the keys pressed while loading do
  const options = () => [...list.querySelectorAll("[role=option]:not([aria-disabled])")];

  const deactivate = () => {
    at = -1;
    input.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    clearTimeout(timer);
    requests++;
    loading = false;
    waiting = [];
    deactivate();
    input.setAttribute("aria-expanded", "false");
  };
  const load = async (again) => {
    const request = ++requests;
    const slow = setTimeout(() => { if (request === requests) present([loadingLine()]); }, 400);
    const found = await offer(input.value.trim(), { typed, after: "", again });
    clearTimeout(slow);
    if (request !== requests) return;
    const keys = waiting;
    loading = false;
    waiting = [];
    if (found) present(found);
    else if (list.querySelector("[aria-busy]")) present([]);
    if (found) keys.forEach((key) => key());
  };
  const present = (lines) => {
    list.replaceChildren(...lines);
    number();
    input.setAttribute("aria-expanded", String(list.children.length > 0 && document.activeElement === input));
  };
  const number = () => [...list.children].forEach((option, i) => { option.id = `${list.id}-${i}`; });
  const extend = async (last) => {
    const request = ++requests;
    last.setAttribute("aria-busy", "true");
    const found = await offer(input.value.trim(), { typed, after: last.dataset.more });
    if (request !== requests) return;
    const place = options().indexOf(last);
    last.replaceWith(...found);
    number();
    at = place - 1;
    move(1);
  };
  const show = (again = false) => {
    clearTimeout(timer);
    loading = true;
    waiting = [];
    deactivate();
    timer = setTimeout(load, delay, again);
  };
  const move = (by) => {
    const all = options();
    if (all.length === 0) return;
    at = at < 0 && by < 0 ? all.length - 1 : (at + by + all.length) % all.length;
    all.forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
    input.setAttribute("aria-activedescendant", all[at].id);
    all[at].scrollIntoView({ block: "nearest" });
  };
  const pick = (option) => {
    if (option.dataset.more !== undefined) return extend(option);
    if (option.dataset.retry !== undefined) return show(true);
    const more = take(option);
    close();
    typed = false;
    if (more) show();
    return undefined;
  };
  const complete = () => { if (options().length > 0) pick(options()[Math.max(at, 0)]); };

  input.addEventListener("input", () => { typed = true; show(); });
  input.addEventListener("keydown", (event) => {
    const open = input.getAttribute("aria-expanded") === "true";
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const by = event.key === "ArrowDown" ? 1 : -1;
      if (loading) waiting.push(() => move(by));
      else if (open) move(by);
      else show();
    } else if (event.key === "Escape" && (open || loading)) {
      event.preventDefault();
      close();
    } else if (event.key === "Enter" && waiting.length > 0) {
      event.preventDefault();
      waiting.push(() => { if (at >= 0) pick(options()[at]); });
    } else if (tab && event.key === "Tab" && !event.shiftKey && (at >= 0 || typed) && (open && options().length > 0 || loading)) {
      event.preventDefault();
      if (loading) waiting.push(complete);
      else complete();
    } else if (event.key === "Enter" && open && at >= 0) {
      event.preventDefault();
      pick(options()[at]);
    }
  });
  input.addEventListener("click", () => show());
  input.addEventListener("blur", () => { typed = false; close(); });
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the focus stays in the input
    const option = event.target.closest("[role=option]:not([aria-disabled])");
    if (option) pick(option);
  });
  return {
    reload: () => input.getAttribute("aria-expanded") === "true" && show(),
    renew: () => { input.focus(); show(true); },
  };
}

// loadingLine is shown while a list takes long.
function loadingLine() {
  const line = document.createElement("div");
  line.className = "option";
  line.textContent = "Loading…";
  for (const [name, value] of Object.entries({ role: "option", "aria-selected": "false", "aria-disabled": "true", "aria-busy": "true" })) line.setAttribute(name, value);
  return line;
}
