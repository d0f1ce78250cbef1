// The values of a chart as a table: a row for each curve.
const heads = ["Curve", "Last", "Lowest", "Highest", "Values"];

export function tableOf(lines, swatch, text) {
  const table = document.createElement("table");
  table.className = "table";
  row(table.createTHead(), "th", heads);
  const body = table.createTBody();
  for (const line of lines) {
    const values = given(line.y), low = given(line.low ?? line.y), high = given(line.high ?? line.y);
    const added = row(body, "td", [line.name, text(line.last ?? values.at(-1)), text(Math.min(...low)), text(Math.max(...high)), String(values.length)]);
    added.cells[0].prepend(swatch(line), " ");
    if (line.run) added.dataset.run = line.run;
  }
  return table;
}

const given = (values) => values.filter((v) => v != null);

function row(parent, kind, cells) {
  const tr = parent.insertRow();
  cells.forEach((text, i) => {
    const cell = document.createElement(i ? kind : "th");
    if (i) cell.className = "num";
    if (cell.tagName === "TH") cell.scope = kind === "th" ? "col" : "row";
    cell.textContent = text;
    tr.append(cell);
  });
  return tr;
}
