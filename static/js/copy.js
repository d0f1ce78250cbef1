// Copy buttons copy their text to the clipboard and confirm it.
import { toast } from "./toast.js";

export function setUpCopy() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    // What a reader has chosen since the page was loaded is in the address.
    const text = "copyAddress" in button.dataset ? new URL(location.search || "?", button.dataset.copy).href : button.dataset.copy;
    await navigator.clipboard.writeText(text);
    toast("Copied");
  });
}
