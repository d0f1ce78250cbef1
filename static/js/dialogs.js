// Links with data-dialog open the dialog with that id; without JavaScript they lead to a
// page with the same form.
export function setUpDialogs() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog]");
    if (opener && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      const dialog = document.getElementById(opener.dataset.dialog);
      if (dialog) {
        event.preventDefault();
        openDialog(dialog);
      }
      return;
    }
    // A click on the backdrop has the dialog element itself as its target.
    if (event.target instanceof HTMLDialogElement) event.target.close();
    if (event.target.closest("[data-close]")) {
      event.preventDefault();
      event.target.closest("dialog")?.close();
    }
  });
  setUpPalette(document.getElementById("palette"));
}

export function openDialog(dialog) {
  for (const menu of document.querySelectorAll("[popover]:popover-open")) menu.hidePopover();
  if (!dialog.open) dialog.showModal();
}

// The palette filters its pages and commands while the user types. The arrow keys move
// through the results and Enter opens the first one, which is highlighted. While the search is still running, Enter
// opens a page or command that matches, or else the search page.
function setUpPalette(palette) {
  if (!palette) return;
  const input = palette.querySelector("input");
  const links = () => [...palette.querySelectorAll(".menu-item:not([hidden])")];
  let searching = false;
  const entered = () => (input.value.trim() ? links().find((item) => "keywords" in item.dataset || !searching) : null);
  const mark = () => {
    const first = entered();
    for (const item of palette.querySelectorAll(".menu-item")) item.toggleAttribute("data-first", item === first);
  };
  palette.addEventListener("htmx:after:swap", (event) => {
    const of = new URL(event.detail.ctx.request.action, location.href).searchParams.get("q");
    searching = of !== input.value; // the user may have typed on
    mark();
  });
  input.addEventListener("input", () => {
    searching = input.value.trim() !== "";
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of palette.querySelectorAll("[data-keywords]")) {
      const known = `${item.querySelector("svg").nextSibling.data} ${item.dataset.keywords}`.toLowerCase().trim().split(/\s+/);
      item.hidden = !words.every((word) => known.some((k) => k.startsWith(word)));
    }
    mark();
  });
  palette.addEventListener("click", (event) => {
    if (event.target.closest("[data-command]")) palette.close();
  });
  palette.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === input) {
      const first = entered();
      if (!first) return;
      event.preventDefault();
      first.click();
      return;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const all = [input, ...links()];
    const step = event.key === "ArrowDown" ? 1 : -1;
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
}
