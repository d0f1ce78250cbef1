// A toast is never the only place of a message: it goes after six seconds, and
// stays while it is pointed at or holds the focus.
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
