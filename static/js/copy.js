// Copy buttons put their text on the clipboard and say so.
import { toast } from "./toast.js";

export function setUpCopy() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    toast("Copied");
  });
}
