// A metric that each run reports once has no curve: a bar for each run, the highest value first.
const ns = "http://www.w3.org/2000/svg";
const rowHeight = 20, letter = 6.5, valueWidth = 64;

// singles reports whether lines are single values, of which a chart shows bars.
export const singles = (lines) => lines.length > 1 && lines.every(({ y }) => y.filter((v) => v != null).length === 1);

// scrolls reports whether the bars are higher than a chart.
export const scrolls = (lines) => lines.length > 15;

export function barsOf(lines, outer, text) {
  const width = outer - (scrolls(lines) ? 16 : 0);
  const bars = lines.map((line) => ({ line, value: line.y.find((v) => v != null) })).sort((a, b) => b.value - a.value);
  const low = Math.min(0, bars.at(-1).value), high = Math.max(0, bars[0].value);
  const letters = Math.min(22, Math.max(...lines.map(({ name }) => name.length)));
  const from = Math.min(letters * letter, width / 3) + 8, room = Math.max(16, width - from - valueWidth);
  const at = (value) => from + (high > low ? (value - low) / (high - low) : 0) * room;
  const drawing = element("svg", { class: "chart chart-bars", viewBox: `0 0 ${width} ${bars.length * rowHeight}`, width, height: bars.length * rowHeight });
  bars.forEach(({ line, value }, i) => {
    const y = i * rowHeight, shown = Math.floor((from - 8) / letter);
    const row = element("g", line.run ? { "data-run": line.run } : {});
    const name = element("text", { x: from - 8, y: y + 14, "text-anchor": "end" }, shortened(line.name, shown));
    const start = Math.min(at(0), at(value)), size = Math.max(1, Math.abs(at(value) - at(0)));
    const fill = line.color < 0 ? "" : `m${line.color + 1}`;
    row.append(element("rect", { class: "mark-row", x: 0, y, width, height: rowHeight }), name, element("rect", { class: `mark-bar ${fill}`, x: start, y: y + 4, width: size, height: rowHeight - 8 }), element("text", { class: "end", x: at(Math.max(0, value)) + 6, y: y + 14 }, text(value)));
    row.append(element("title", {}, `${line.name}: ${text(value)}`));
    drawing.append(row);
  });
  return drawing;
}

// shortened keeps the end of a name, which has the ID of the execution.
function shortened(name, letters) {
  if (name.length <= letters) return name;
  const end = Math.min(8, letters - 2);
  return `${name.slice(0, Math.max(1, letters - end - 1)).trimEnd()}…${name.slice(-end)}`;
}

function element(name, attributes, content) {
  const made = document.createElementNS(ns, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, typeof value === "number" ? Math.round(value * 10) / 10 : value);
  if (content != null) made.textContent = content;
  return made;
}
