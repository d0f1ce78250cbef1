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

// The palette filters its pages while the user types. The arrow keys move through the
// results and Enter opens the first one. While the search is still running, Enter opens
// the search page instead.
function setUpPalette(palette) {
  if (!palette) return;
  const input = palette.querySelector("input");
  const links = () => [...palette.querySelectorAll(".menu-item:not([hidden])")];
  let searching = false;
  palette.addEventListener("htmx:after:swap", () => (searching = false));
  input.addEventListener("input", () => {
    searching = input.value.trim() !== "";
    const wanted = input.value.trim().toLowerCase();
    for (const link of palette.querySelectorAll("#palette-pages .menu-item")) {
      link.hidden = wanted !== "" && !link.textContent.toLowerCase().includes(wanted);
    }
  });
  palette.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === input) {
      const first = input.value.trim() !== "" && !searching && links().find((link) => link.href);
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
