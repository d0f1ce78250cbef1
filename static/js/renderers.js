// Pages of custom types show values in sandboxed frames (docs/renderers.md). A frame has an opaque
// origin and no network: it receives one value, reads bytes of the artifacts in that value, and
// reports its height. Whatever it does wrong ends it, and the built-in view returns with a message.

const VERSION = 1;
const READY_MS = 5000;
const MAX_VALUE = 1 << 20; // characters of JSON
const MAX_READ = 4 << 20; // bytes of one answer
const MAX_WAITING = 4; // reads at a time
const MAX_MESSAGES = 200; // in PERIOD_MS
const PERIOD_MS = 2000;
const MAX_HEIGHT = 1200;
const MIN_HEIGHT = 40;

const systemTheme = matchMedia("(prefers-color-scheme: dark)");

const live = new Set();

export function setUp() {
  for (const renderer of live) {
    if (!renderer.place.isConnected) renderer.stop(); // a swap removed it
  }
  for (const place of document.querySelectorAll("[data-renderer]:not([data-renderer-on])")) {
    place.dataset.rendererOn = "true";
    new Renderer(place);
  }
}

class Renderer {
  constructor(place) {
    this.place = place;
    this.builtIn = place.querySelector("[data-renderer-built-in]");
    this.note = place.querySelector("[data-renderer-note]");
    this.control = place.dataset.input ? new Control(this.builtIn) : null;
    this.artifacts = JSON.parse(place.dataset.artifacts || "[]");
    this.waiting = 0;
    this.loads = 0;
    this.times = [];
    this.receive = this.receive.bind(this);
    if (this.text().length > MAX_VALUE) {
      this.showMessage("The value is too large for the type's custom view.");
      return;
    }
    this.begin();
  }

  begin() {
    this.frame = document.createElement("iframe");
    this.frame.className = "renderer-frame renderer-waiting"; // laid out, so that the page can measure itself
    this.frame.title = this.place.dataset.title;
    this.frame.setAttribute("sandbox", "allow-scripts");
    this.frame.setAttribute("referrerpolicy", "no-referrer");
    this.frame.addEventListener("load", () => {
      if (++this.loads > 1) this.end("navigated away");
    });
    live.add(this);
    addEventListener("message", this.receive);
    this.changed = () => this.send({ type: "theme", theme: theme() });
    systemTheme.addEventListener("change", this.changed);
    this.themes = new MutationObserver(this.changed);
    this.themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    this.timer = setTimeout(() => this.end("did not respond"), READY_MS);
    this.frame.src = this.place.dataset.renderer;
    this.place.insertBefore(this.frame, this.builtIn);
    if (this.control) this.builtIn.addEventListener("change", () => !this.setting && this.show());
  }

  // text is the value as JSON.
  text() {
    if (!this.control) return this.place.dataset.value || "null";
    const text = this.control.value;
    if (text === "") return "null";
    if (!["Integer", "Float", "JSON"].includes(this.place.dataset.kind)) return JSON.stringify(text);
    try {
      JSON.parse(text);
      return text;
    } catch {
      return JSON.stringify(text);
    }
  }

  receive(event) {
    if (event.source !== this.frame.contentWindow) return;
    const now = performance.now();
    this.times = this.times.filter((t) => now - t < PERIOD_MS);
    this.times.push(now);
    if (this.times.length > MAX_MESSAGES) {
      this.end("sent too many messages");
      return;
    }
    const message = event.data;
    if (message === null || typeof message !== "object" || message.flowforge !== VERSION) return;
    switch (message.type) {
      case "ready":
        this.ready();
        break;
      case "height":
        this.resize(message.height);
        break;
      case "read":
        this.read(message);
        break;
      case "value":
        this.take(message);
        break;
      case "leave":
        this.leave(message.back === true);
        break;
    }
  }

  ready() {
    clearTimeout(this.timer);
    this.frame.classList.remove("renderer-waiting");
    this.builtIn.hidden = true;
    this.offer();
    this.show();
  }

  show() {
    const { type, kind } = this.place.dataset;
    this.send({ type: "show", value: JSON.parse(this.text()), valueType: type, kind, theme: theme(), input: Boolean(this.control), artifacts: this.artifacts });
  }

  // offer lets users return to the built-in view, also by keyboard.
  offer() {
    const button = this.place.querySelector("[data-renderer-switch]");
    if (!button || !button.hidden) return;
    button.hidden = false;
    button.addEventListener("click", () => {
      const own = this.builtIn.hidden;
      this.builtIn.hidden = !own;
      if (this.frame) this.frame.hidden = own;
      button.textContent = own ? button.dataset.other : button.dataset.builtIn;
      if (!own) this.show();
    });
  }

  send(message, transfer = []) {
    // The frame has an opaque origin, which no other target matches.
    this.frame?.contentWindow?.postMessage({ flowforge: VERSION, ...message }, "*", transfer);
  }

  resize(height) {
    if (!Number.isFinite(height)) return;
    this.frame.height = Math.round(Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, height)));
  }

  async read({ id, artifact, offset = 0, length = MAX_READ }) {
    const refuse = (reason) => this.send({ type: "error", id, reason });
    const known = this.artifacts.find((a) => a.id === artifact);
    if (!known) return refuse("The value does not refer to this artifact.");
    if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 1) return refuse("offset and length are whole numbers of bytes.");
    if (this.waiting >= MAX_WAITING) return refuse(`At most ${MAX_WAITING} reads can wait.`);
    this.waiting++;
    try {
      const last = offset + Math.min(length, MAX_READ) - 1;
      const response = await fetch(known.url, { headers: { Range: `bytes=${offset}-${last}` } });
      if (response.status !== 206 && response.status !== 200) {
        await response.body?.cancel();
        return refuse(response.status === 416 ? "The range is beyond the end." : "The artifact cannot be read.");
      }
      let bytes;
      if (response.status === 206) bytes = await response.arrayBuffer();
      else bytes = await beginning(response, offset, last);
      const total = Number(response.headers.get("Content-Range")?.split("/")[1]) || known.size;
      this.send({ type: "bytes", id, offset, bytes, total }, [bytes]);
    } catch {
      refuse("The artifact cannot be read.");
    } finally {
      this.waiting--;
    }
  }

  // take sets the value of the built-in control, after the server checked it.
  async take({ id, value }) {
    if (!this.control) return;
    let text;
    try {
      text = typeof value === "string" && this.place.dataset.kind !== "JSON" ? value : JSON.stringify(value);
    } catch {
      text = undefined;
    }
    if (text === undefined || text.length > MAX_VALUE) return this.send({ type: "checked", id, errors: ["The value is not JSON, or too large."] });
    if (this.checking) {
      this.next = { id, value };
      return;
    }
    this.checking = true;
    const errors = await this.check(value);
    this.checking = false;
    if (!errors.length) {
      this.setting = true;
      this.control.value = text;
      this.setting = false;
    }
    this.showMessage(errors.join(" "), true);
    this.send({ type: "checked", id, errors });
    const { next } = this;
    this.next = null;
    if (next) this.take(next);
  }

  async check(value) {
    try {
      const response = await fetch(`/api/v1/types/${encodeURIComponent(this.place.dataset.type)}/check`, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ value }),
      });
      const answer = await response.json();
      if (!response.ok) return [answer.detail ?? "The value could not be checked."];
      return answer.problems.map((p) => (p.path ? `${p.path}: ${p.message}` : p.message));
    } catch {
      return ["The value could not be checked. Check the connection to the server."];
    }
  }

  // leave moves the focus out of the frame.
  leave(back) {
    if (document.activeElement !== this.frame) return; // only the focus that it has
    const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")].filter((e) => !e.disabled && e.checkVisibility());
    const after = all.findIndex((e) => this.frame.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING);
    const at = after < 0 ? all.length : after;
    (back ? all[at - 1] : all[at])?.focus();
  }

  showMessage(text, error = false) {
    this.note.textContent = text;
    this.note.hidden = text === "";
    this.note.classList.toggle("error", error && text !== "");
  }

  stop() {
    live.delete(this);
    clearTimeout(this.timer);
    this.themes.disconnect();
    systemTheme.removeEventListener("change", this.changed);
    removeEventListener("message", this.receive);
  }

  end(what) {
    this.stop();
    this.frame.remove();
    this.frame = null;
    this.builtIn.hidden = false;
    const button = this.place.querySelector("[data-renderer-switch]");
    if (button) button.hidden = true;
    this.showMessage(`The custom view for ${this.place.dataset.type} ${what}. The built-in view is shown instead.`);
  }
}

// Control is the built-in control of a value: one element, or several radio buttons.
class Control {
  constructor(place) {
    this.elements = [...place.querySelectorAll("[name]")];
    this.radios = this.elements.filter((e) => e.type === "radio");
  }

  get value() {
    if (this.radios.length) return this.radios.find((e) => e.checked)?.value ?? "";
    return this.elements[0]?.value ?? "";
  }

  set value(text) {
    const element = this.radios.length ? this.radios.find((e) => e.value === text) : this.elements[0];
    if (!element) return;
    if (this.radios.length) element.checked = true;
    else element.value = text;
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

// beginning reads the part of a response without ranges, and no more.
async function beginning(response, from, last) {
  const reader = response.body.getReader();
  const parts = [];
  let at = 0;
  while (at <= last) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value.subarray(Math.min(value.length, Math.max(0, from - at)), Math.min(value.length, last + 1 - at)));
    at += value.length;
  }
  await reader.cancel();
  return new Blob(parts).arrayBuffer();
}

function theme() {
  const set = document.documentElement.dataset.theme;
  if (set === "dark" || set === "light") return set;
  return systemTheme.matches ? "dark" : "light";
}
