// Shows another state of the table of executions in place. The server draws it for its address.
let status = null, turn = 0;

// announce tells screen readers what was done.
export function announce(text) {
  if (!status) {
    status = document.createElement("div");
    status.className = "vh";
    status.setAttribute("role", "status");
    document.body.append(status);
  }
  status.textContent = text;
}

// showPage shows the page of an address in place of this one. Details that are open stay open, and
// charts whose curves are the same stay. The result is the new element: null if the browser leaves the
// page, or if another state has been requested since.
export async function showPage(url) {
  const mine = ++turn;
  const answer = await fetch(url, { headers: { Accept: "text/html" } }).catch(() => null);
  const page = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
  if (mine !== turn) return null; // a later call replaces this one
  const old = document.getElementById("run-page");
  const left = old.querySelector(".table-wrap")?.scrollLeft ?? 0;
  const open = ["#column-choice", ".metric-choice"].filter((name) => old.querySelector(name)?.open);
  const drawn = new Map([...old.querySelectorAll("figure[data-curves]:has(canvas, .chart-bars)")].map((figure) => [figure.dataset.curves, figure]));
  const selected = [...old.querySelectorAll("[data-run-table] tbody input:checked")].map((box) => box.value);
  const fresh = page && page.getElementById("run-page");
  if (!fresh) {
    location.assign(url); // the server says what is wrong
    return null;
  }
  for (const name of open) fresh.querySelector(name)?.setAttribute("open", "");
  await htmx.swap({ sourceElement: old, target: old, text: fresh.outerHTML, swap: "outerHTML" });
  history.replaceState(history.state, "", answer.url);
  const now = document.getElementById("run-page");
  for (const figure of now.querySelectorAll("figure[data-curves]")) {
    const same = drawn.get(figure.dataset.curves);
    if (same) figure.replaceWith(same);
  }
  for (const box of now.querySelectorAll("[data-run-table] tbody input[type=checkbox]")) box.checked = selected.includes(box.value);
  const table = now.querySelector(".table-wrap");
  if (table) table.scrollLeft = left;
  document.dispatchEvent(new Event("runpage"));
  return now;
}
