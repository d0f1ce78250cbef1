// Copy buttons copy their text to the clipboard and confirm it.
import { toast } from "./toast.js";

export function setUpCopy() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    toast("Copied");
  });
}
