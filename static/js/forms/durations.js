// Shows a duration in seconds while the user types it. The server validates it.

const seconds = { ms: 0.001, s: 1, sec: 1, second: 1, m: 60, min: 60, minute: 60, h: 3600, hr: 3600, hour: 3600, d: 86400, day: 86400, w: 604800, week: 604800 };

export function setUpDurations() {
  document.addEventListener("input", (event) => {
    if (!event.target.matches?.("[data-duration]")) return;
    const echo = event.target.parentElement.querySelector("[data-readable]");
    const total = parseDuration(event.target.value);
    echo.textContent = total === null ? "" : `= ${total.toLocaleString("en", { maximumFractionDigits: 3 })} s`;
  });
}

export function parseDuration(text) {
  const plain = text.trim().toLowerCase();
  if (plain === "") return null;
  const iso = /^p(?:(\d+(?:\.\d+)?)w)?(?:(\d+(?:\.\d+)?)d)?(?:t(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?)?$/.exec(plain);
  if (iso && iso.slice(1).some(Boolean)) {
    return iso.slice(1).reduce((sum, part, i) => sum + Number(part ?? 0) * [604800, 86400, 3600, 60, 1][i], 0);
  }
  let total = 0;
  const rest = plain.replace(/(\d+(?:\.\d+)?)\s*([a-z]+)\s*(?:,|and)?\s*/g, (whole, figure, unit) => {
    const factor = seconds[unit] ?? seconds[unit.replace(/s$/, "")];
    if (factor === undefined) return whole;
    total += Number(figure) * factor;
    return "";
  });
  return rest === "" ? total : null;
}
