// The graph of an execution: arrow keys move from node to node (roving focus),
// Enter opens, and the selected node is brought into view.
import { setUpView } from "./graphview.js";

export function setUp() {
  for (const graph of document.querySelectorAll(".dag")) {
    if (!graph.hasAttribute("data-ready")) {
      graph.dataset.ready = "";
      const view = graph.closest("[data-dag]");
      if (view) setUpView(view);
      const selected = graph.querySelector(".node[aria-current]");
      if (selected) reveal(graph, selected, "instant");
      rove(graph);
      selectInPlace(graph);
    }
    oneTabStop(graph);
  }
}

// A live update redraws nodes: remove all but one from the tab order again.
function oneTabStop(graph) {
  const nodes = [...graph.querySelectorAll("a.node")];
  const stop = nodes.find((node) => node.getAttribute("tabindex") === "0") ?? graph.querySelector("a.node[aria-current]") ?? nodes[0];
  for (const node of nodes) node.setAttribute("tabindex", node === stop ? "0" : "-1");
}

// The parts of the page that depend on the selected node. The link of a node leads to a
// whole page; replacing only these parts keeps the rest of the page in place. In pages without a
// panel for the node, such as lineage, the browser follows the link.
const followers = ["node", "metrics", "logs", "live"];

function selectInPlace(graph) {
  graph.addEventListener("click", (event) => {
    const node = event.target.closest("a.node");
    if (!node || !document.getElementById("node") || node.dataset.group || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    select(graph, node);
  });
}

async function select(graph, node) {
  const url = new URL(node.href.baseVal, location.href);
  const hash = url.hash;
  url.hash = "";
  for (const other of graph.querySelectorAll(".node[aria-current]")) other.removeAttribute("aria-current");
  node.setAttribute("aria-current", "true");
  const answer = await fetch(url, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok) {
    location.assign(url + hash);
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  history.replaceState(history.state, "", url);
  for (const id of followers) await replace(document.getElementById(id), page.getElementById(id));
  document.getElementById("node")?.scrollIntoView({ block: "nearest" });
}

// htmx does the swap, so that it closes the old live connection and opens the new one.
async function replace(old, fresh) {
  if (old && fresh) await htmx.swap({ sourceElement: old, target: old, text: fresh.outerHTML, swap: "outerHTML" });
}

function rove(graph) {
  const nodes = () => [...graph.querySelectorAll("a.node")];
  graph.addEventListener("focusin", (event) => {
    const node = event.target.closest("a.node");
    if (!node) return;
    for (const other of nodes()) other.setAttribute("tabindex", other === node ? "0" : "-1");
    reveal(graph, node, "auto");
  });
  graph.addEventListener("keydown", (event) => {
    const node = event.target.closest("a.node");
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!node || !direction) return;
    event.preventDefault();
    nearest(nodes(), node, direction)?.focus({ preventScroll: true });
  });
}

function centre(node) {
  const box = node.querySelector(".node-box").getBBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

// nearest is the closest node in a direction; the distance across it counts double.
function nearest(nodes, from, [dx, dy]) {
  const [x, y] = centre(from);
  let best = null, least = Infinity;
  for (const node of nodes) {
    const [nx, ny] = centre(node);
    const along = (nx - x) * dx + (ny - y) * dy;
    const off = Math.abs((nx - x) * dy) + Math.abs((ny - y) * dx);
    if (node === from || along < 8) continue;
    if (along + 2 * off < least) [best, least] = [node, along + 2 * off];
  }
  return best;
}

function reveal(graph, node, behavior) {
  const frame = graph.closest(".dag-wrap");
  if (!frame) return;
  const box = node.getBoundingClientRect(), view = frame.getBoundingClientRect();
  const outside = box.left < view.left || box.right > view.right || box.top < view.top || box.bottom > view.bottom;
  if (!outside) return;
  frame.scrollTo({
    left: frame.scrollLeft + box.left - view.left - (view.width - box.width) / 2,
    top: frame.scrollTop + box.top - view.top - (view.height - box.height) / 2,
    behavior,
  });
}
