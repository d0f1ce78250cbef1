// The bell of the top bar. The streams of pages keep it up to date; a page without a stream opens
// one for it. What arrives while the page is open is announced to screen readers, and shown by the
// browser if the user has turned that on and looks at something else.
const storageKey = "desktop-notifications";
let known = "";

export function setUpInbox() {
  const bell = current();
  if (!bell) return;
  known = bell.dataset.newest;
  if (!document.querySelector("[hx-sse\\:connect]")) connect();
  document.addEventListener("htmx:sse:close", (event) => {
    if (event.detail?.reason === "message") connect(); // the stream of the page is complete
  });
  document.addEventListener("htmx:after:swap", announce);
  document.addEventListener("visibilitychange", () => { if (document.hidden) watch(); });
  document.addEventListener("click", markRead);
  document.addEventListener("auxclick", (event) => event.button === 1 && markRead(event));
  const desktop = document.querySelector("[data-desktop]");
  if (desktop) setUpDesktop(desktop);
}

const current = () => document.getElementById("inbox-bell");

function connect() {
  if (document.getElementById("bell-live")) return;
  const live = document.createElement("div");
  live.id = "bell-live";
  live.hidden = true;
  live.setAttribute("hx-sse:connect", "/inbox/bell/stream");
  live.setAttribute("hx-swap", "none");
  document.body.append(live);
  htmx.process(live);
}

// IDs of items are ordered by time.
function announce() {
  const { newest, title, url } = current()?.dataset ?? {};
  if (!newest || !title || newest <= known) return;
  known = newest;
  if (document.hidden) show(newest, title, url);
  else document.getElementById("inbox-news").textContent = `New in your inbox: ${title}`;
}

// Several open pages show one notification: they have the same tag.
function show(id, title, url) {
  if (!allowed()) return;
  const note = new Notification(title, { tag: id, body: "FlowForge" });
  note.addEventListener("click", () => {
    focus();
    location.assign(url);
  });
}

const allowed = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem(storageKey) === "on";

// Streams pause in the background. One of the hidden pages asks for the bell instead.
function watch() {
  if (!allowed()) return;
  navigator.locks.request("inbox-bell", { ifAvailable: true }, async (lock) => {
    while (lock && document.hidden && allowed()) {
      const answer = await fetch("/inbox/bell").catch(() => null);
      if (answer?.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const bell = page.getElementById("inbox-bell");
        if (bell) current().replaceWith(document.adoptNode(bell));
        announce();
      }
      await new Promise((next) => setTimeout(next, 30_000));
    }
  });
}

// A click on an unread item makes it read, also when it opens in another tab.
function markRead(event) {
  const link = event.target.closest("a[data-read]");
  if (link) fetch(link.dataset.read, { method: "POST", keepalive: true, redirect: "manual" }).catch(() => {});
}

function setUpDesktop(box) {
  const button = box.querySelector("[data-desktop-switch]"), state = box.querySelector("[data-desktop-state]");
  const draw = () => {
    const denied = !("Notification" in window) || Notification.permission === "denied";
    state.textContent = denied ? "This browser does not allow notifications from FlowForge. Allow them in the settings of the browser."
      : `Browser notifications are ${allowed() ? "on" : "off"}.`;
    button.textContent = allowed() ? "Turn off" : "Turn on";
    button.disabled = denied;
  };
  button.addEventListener("click", async () => {
    if (allowed()) localStorage.setItem(storageKey, "off");
    else if (await Notification.requestPermission() === "granted") localStorage.setItem(storageKey, "on");
    draw();
  });
  draw();
}
