// The editor of reports: the preview follows the text, buttons insert live blocks, Ctrl+S saves, and
// the browser asks before unsaved text is lost.
const pause = 500; // milliseconds after the last key

export function setUp() {
  const form = document.querySelector("form[data-report]:not([data-ready])");
  if (!form) return;
  form.dataset.ready = "";
  const text = form.elements.text;
  const fields = () => JSON.stringify([form.elements.title.value, text.value]);
  const loaded = JSON.stringify([form.elements.title.defaultValue, text.defaultValue]); // without what was typed before this script
  let saved = form.hasAttribute("data-unsaved") ? null : loaded, timer, request;

  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, pause);
  });
  form.addEventListener("click", (event) => {
    const snippet = event.target.closest("[data-snippet]")?.dataset.snippet;
    if (snippet) insert(text, snippet);
  });
  form.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", () => { saved = fields(); });
  addEventListener("beforeunload", (event) => fields() !== saved && event.preventDefault());
  addEventListener("pageshow", (event) => { // back to a form that was sent: its text may not have been saved
    if (event.persisted) saved = null;
  });

  if (text.value !== text.defaultValue) refresh();

  async function refresh() {
    const preview = form.querySelector("[data-preview]"), state = form.querySelector("[data-preview-state]");
    request?.abort();
    request = new AbortController();
    try {
      const response = await fetch(form.dataset.report, { method: "POST", body: new URLSearchParams({ text: text.value }), signal: request.signal });
      if (!response.ok) throw new Error(response.status);
      show(preview, await response.text());
      state.textContent = "";
    } catch (error) {
      if (error.name !== "AbortError") state.textContent = "The preview cannot be updated right now. Your text is unchanged.";
    }
  }
}

// show replaces the preview. Blocks whose options did not change stay, with their charts.
function show(preview, html) {
  const next = new DOMParser().parseFromString(html, "text/html").body;
  const known = new Map();
  for (const block of preview.querySelectorAll("[data-block]")) if (block.querySelector("[data-curves]")) known.set(block.dataset.block, block);
  for (const block of next.querySelectorAll("[data-block]")) {
    const old = known.get(block.dataset.block);
    if (!old) continue;
    known.delete(block.dataset.block);
    old.id = block.id;
    block.replaceWith(old);
  }
  preview.replaceChildren(...next.childNodes);
  document.dispatchEvent(new Event("htmx:after:swap"));
}

// insert puts a block on lines of its own at the cursor. The browser can undo it.
function insert(text, snippet) {
  text.focus();
  const before = text.value.slice(0, text.selectionStart);
  const lead = before === "" || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n";
  if (!document.execCommand("insertText", false, lead + snippet)) {
    text.setRangeText(lead + snippet, text.selectionStart, text.selectionEnd, "end");
    text.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
