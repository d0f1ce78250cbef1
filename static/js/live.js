// htmx owns the live connection of the page. This module reports when the connection is
// lost and updates elapsed times. It never moves the focus.
import { toast } from "./toast.js";

export function setUpLive() {
  let lost = false;
  document.addEventListener("htmx:sse:error", () => {
    if (lost) return;
    lost = true;
    toast("Live updates interrupted. Reconnecting…");
  });
  document.addEventListener("htmx:sse:after:connection", () => {
    if (lost) toast("Live updates resumed.");
    lost = false;
  });
  // The server closes the stream after the last event.
  document.addEventListener("htmx:sse:close", (event) => {
    if (event.detail?.reason !== "message") return;
    for (const live of document.querySelectorAll("[data-live]")) live.remove();
    for (const log of document.querySelectorAll("[data-log=follow]")) log.dataset.log = "ended";
    for (const state of document.querySelectorAll("[data-follow-state]")) state.textContent = "The log is complete";
    for (const button of document.querySelectorAll("[data-follow]")) button.hidden = true;
  });
  setInterval(tick, 1000);
  // The title begins with the state of the execution, so that browser tabs show it.
  document.addEventListener("htmx:after:swap", () => {
    const title = document.querySelector("main [data-title]")?.dataset.title; // the bell has another
    if (title && document.title !== title) document.title = title;
  });
}

// An element with data-since shows the time since then, in the server's format.
function tick() {
  if (document.hidden) return;
  for (const clock of document.querySelectorAll("[data-since]")) {
    const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(clock.dataset.since)) / 1000));
    const text = duration(seconds);
    if (clock.textContent !== text) clock.textContent = text;
  }
}

function duration(seconds) {
  const pad = (n) => String(n).padStart(2, "0");
  const two = (big, bigUnit, small, smallUnit) => small ? `${big} ${bigUnit} ${pad(small)} ${smallUnit}` : `${big} ${bigUnit}`;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
  if (seconds < 86400) return two(Math.floor(seconds / 3600), "h", Math.floor(seconds / 60) % 60, "min");
  return two(Math.floor(seconds / 86400), "d", Math.floor(seconds / 3600) % 24, "h");
}
