// Following a log: the view scrolls to new lines until the user scrolls up. The button or
// the End key resumes following.
export function setUp() {
  for (const log of document.querySelectorAll("[data-log]:not([data-ready])")) follow(log);
}

const maxLines = 5000;

function follow(log) {
  log.dataset.ready = "";
  const box = log.closest("[data-log-box]") ?? log.parentElement;
  const state = box.querySelector("[data-follow-state]");
  const button = box.querySelector("[data-follow]");
  let following = log.dataset.log === "follow";
  const show = () => {
    if (log.dataset.log === "ended") return;
    if (state) state.textContent = following ? "Following: new lines appear at the end" : "Not following: you scrolled up";
    if (button) button.hidden = following;
  };
  const toEnd = () => { log.scrollTop = log.scrollHeight; };
  const atEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 32;
  if (following && !location.hash) toEnd();
  show();
  log.addEventListener("scroll", () => {
    if (log.dataset.log !== "follow" || following === atEnd()) return;
    following = atEnd();
    show();
  }, { passive: true });
  button?.addEventListener("click", () => { following = true; toEnd(); show(); log.focus(); });
  new MutationObserver(() => {
    if (!following) return;
    while (log.childElementCount > maxLines) log.firstElementChild.remove();
    toEnd();
  }).observe(log, { childList: true });
}
