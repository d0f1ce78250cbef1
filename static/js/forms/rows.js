// List and map editors: new rows are copies of a template element.

export function setUpRows(enhance) {
  document.addEventListener("click", (event) => {
    const add = event.target.closest?.("[data-add]");
    const remove = event.target.closest?.("[data-remove]");
    if (add) addRow(event, add, enhance);
    if (remove) removeRow(event, remove);
  });
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-add-token]") || event.target.value === "") return;
    addToken(event.target);
  });
}

function addRow(event, button, enhance) {
  const editor = button.closest(".list-editor");
  if (!editor) return;
  event.preventDefault();
  if (editor.dataset.tokens !== undefined) {
    const select = editor.querySelector("[data-add-token]");
    if (select.value === "") select.focus();
    else addToken(select);
    return;
  }
  const row = append(editor);
  enhance(row);
  row.querySelector("input:not([type=hidden]), select, textarea, button")?.focus();
}

function addToken(select) {
  const editor = select.closest(".list-editor");
  const row = append(editor);
  row.querySelector("input").value = select.value;
  const label = select.selectedOptions[0].textContent.trim();
  row.querySelector("[data-label]").textContent = label;
  row.querySelector("[data-remove]").setAttribute("aria-label", `Remove ${label}`);
  select.value = "";
}

// append adds a copy of the template as the last row and fires a change event.
function append(editor) {
  const counter = editor.querySelector(":scope > input[type=hidden]");
  const index = Number(counter.value) || 0;
  counter.value = index + 1;
  const copy = editor.querySelector(":scope > template").content.cloneNode(true);
  stamp(copy, editor.dataset.token, String(index));
  const row = copy.firstElementChild;
  const rows = rowsOf(editor);
  const tail = rows.querySelector(":scope > :not([data-row])");
  rows.insertBefore(row, tail);
  number(editor);
  changed(editor);
  return row;
}

// stamp replaces the template's token by the row's number, also in nested templates.
function stamp(root, token, text) {
  for (const element of root.querySelectorAll("*")) {
    for (const attribute of element.attributes) {
      if (attribute.value.includes(token)) attribute.value = attribute.value.replaceAll(token, text);
    }
    if (element instanceof HTMLTemplateElement) stamp(element.content, token, text);
  }
}

function removeRow(event, button) {
  const row = button.closest("[data-row]");
  const editor = row?.closest(".list-editor");
  if (!editor) return;
  event.preventDefault();
  const next = [row.nextElementSibling, row.previousElementSibling].find((other) => other?.matches("[data-row]"));
  row.remove();
  number(editor);
  const target = next?.querySelector("[data-remove]") ?? editor.querySelector("[data-add-token], [data-add]:not([hidden])");
  target?.focus();
  changed(editor);
}

const rowsOf = (editor) => editor.querySelector(":scope > .rows");

// number renumbers the rows and enables or disables the buttons that depend on the count.
function number(editor) {
  const rows = [...rowsOf(editor).querySelectorAll(":scope > [data-row]")];
  rows.forEach((row, i) => {
    const figure = row.querySelector(":scope > .item-no");
    if (figure) figure.textContent = i + 1;
    rename(row, i + 1);
    const moves = row.querySelector(":scope > .item-actions");
    moves?.querySelector("[name='$up']")?.toggleAttribute("disabled", i === 0);
    moves?.querySelector("[name='$down']")?.toggleAttribute("disabled", i === rows.length - 1);
  });
  const full = editor.dataset.max !== "" && rows.length >= Number(editor.dataset.max);
  for (const control of editor.querySelectorAll(":scope > [data-add], :scope > .row > [data-add], :scope > .row > [data-add-token]")) {
    control.hidden = full;
  }
}

// rename updates the position in the accessible name of a row.
function rename(row, position) {
  const before = row.getAttribute("aria-label");
  if (!before) return;
  const after = before.replace(/(entry|value) \d+$|new entry$/, (found) => `${found.startsWith("value") ? "value" : "entry"} ${position}`);
  if (after === before) return;
  for (const element of [row, ...row.querySelectorAll("[aria-label]")]) {
    const label = element.getAttribute("aria-label");
    if (label?.includes(before)) element.setAttribute("aria-label", label.replace(before, after));
  }
}

const changed = (editor) => editor.dispatchEvent(new Event("change", { bubbles: true }));
