// A toast disappears after six seconds, except while it is hovered or focused. The page
// always shows its message elsewhere, too.
export function toast(text) {
  const box = document.getElementById("toasts");
  if (!box) return;
  const note = document.createElement("div");
  note.className = "toast";
  note.textContent = text;
  box.replaceChildren(note);
  const go = () => note.matches(":hover, :focus-within") ? setTimeout(go, 1000) : note.remove();
  setTimeout(go, 6000);
}
