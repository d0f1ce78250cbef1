// The graph of an execution: arrow keys move from node to node (roving focus),
// Enter opens, and the selected node is brought into view.
export function setUp() {
  for (const graph of document.querySelectorAll(".dag:not([data-ready])")) {
    graph.dataset.ready = "";
    const selected = graph.querySelector(".node[aria-current]");
    if (selected) reveal(graph, selected, "instant");
    rove(graph);
  }
}

function rove(graph) {
  const nodes = () => [...graph.querySelectorAll("a.node")];
  const all = nodes();
  const first = graph.querySelector("a.node[aria-current]") ?? all[0];
  for (const node of all) node.setAttribute("tabindex", node === first ? "0" : "-1");
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

// nearest is the closest node in direction; moving sideways off the line costs double.
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
