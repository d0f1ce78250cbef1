// The theme button is a POST form; with JavaScript it switches without loading a page.
export function setUpTheme() {
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-theme-switch]");
    if (!form) return;
    event.preventDefault();
    const root = document.documentElement;
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const theme = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
    root.dataset.theme = theme;
    form.elements.theme.value = theme === "dark" ? "light" : "dark";
    document.cookie = `theme=${theme};path=/;max-age=31536000;samesite=lax`;
    document.dispatchEvent(new CustomEvent("theme"));
  });
}
