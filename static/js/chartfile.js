// Saves a chart of uPlot as it is drawn now, with title and legend.

const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

// svgOf is the chart as an SVG document.
export function svgOf(plot, { title, surface, ink }) {
  const ratio = devicePixelRatio;
  const box = { x: plot.bbox.left / ratio, y: plot.bbox.top / ratio, w: plot.bbox.width / ratio, h: plot.bbox.height / ratio };
  const top = 32, lines = plot.series.filter((s) => s.main), perRow = Math.max(1, Math.floor(plot.width / 170));
  const height = top + plot.height + 20 * Math.ceil(lines.length / perRow) + 8;
  const paint = (value) => typeof value === "function" ? value(plot, 1) : value;
  const parts = [`<rect width="100%" height="100%" fill="${rgb(surface)}"/>`, `<text x="8" y="21" font-weight="600" font-size="13" fill="${rgb(ink)}">${escape(title)}</text>`, `<g transform="translate(0 ${top})"><clipPath id="plot"><rect x="${box.x}" y="${box.y}" width="${box.w}" height="${box.h}"/></clipPath>`];
  plot.axes.forEach((axis, i) => {
    const key = i ? "y" : "x", text = rgb(paint(axis.stroke)), grid = rgb(paint(axis.grid.stroke));
    (axis._splits ?? []).forEach((at, n) => {
      const label = axis._values?.[n];
      const p = plot.valToPos(at, key) + (i ? box.y : box.x);
      if (at == null || !Number.isFinite(p)) return;
      parts.push(i ? `<path stroke="${grid}" d="M${box.x} ${p}h${box.w}"/>` : `<path stroke="${grid}" d="M${p} ${box.y}v${box.h}"/>`);
      if (label) parts.push(i ? `<text x="${box.x - 6}" y="${p + 4}" text-anchor="end" fill="${text}">${escape(label)}</text>` : `<text x="${p}" y="${box.y + box.h + 17}" text-anchor="middle" fill="${text}">${escape(label)}</text>`);
    });
  });
  parts.push(`<g clip-path="url(#plot)" fill="none" stroke-linejoin="round">`);
  const place = (x, y) => `${(plot.valToPos(x, "x") + box.x).toFixed(1)} ${(plot.valToPos(y, "y") + box.y).toFixed(1)}`;
  const points = (i) => plot.data[0].flatMap((x, n) => plot.data[i][n] == null ? [] : [place(x, plot.data[i][n])]);
  for (const band of plot.bands ?? []) {
    const fill = rgb(paint(band.fill), 0.15);
    parts.push(`<path fill="${fill}" d="M${points(band.series[0]).join("L")}L${points(band.series[1]).reverse().join("L")}Z"/>`);
  }
  plot.series.forEach((s, i) => {
    if (!i || !s.main) return;
    const dash = s.dash?.length ? ` stroke-dasharray="${s.dash.map((d) => d / (s.dash.scaled ? ratio : 1)).join(" ")}"` : "";
    parts.push(`<path stroke="${rgb(s.colour)}" stroke-width="1.75"${dash} d="M${points(i).join("L")}"/>`);
  });
  parts.push("</g></g>");
  lines.forEach((s, n) => {
    const x = 8 + 170 * (n % perRow), y = top + plot.height + 16 + 20 * Math.floor(n / perRow);
    const dash = s.dash?.length ? ` stroke-dasharray="${s.dash.join(" ")}"` : "";
    parts.push(`<path stroke="${rgb(s.colour)}" stroke-width="2"${dash} d="M${x} ${y - 4}h22"/><text x="${x + 28}" y="${y}" fill="${rgb(ink)}">${escape(s.label)}</text>`);
  });
  return { width: plot.width, height, text: `<svg xmlns="http://www.w3.org/2000/svg" width="${plot.width}" height="${height}" font-family="Inter, sans-serif" font-size="11">${parts.join("")}</svg>` };
}

// rgb is a colour that every program for SVG understands.
function rgb(colour) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d");
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
  return a === 255 ? `rgb(${r},${g},${b})` : `rgba(${r},${g},${b},${(a / 255).toFixed(3)})`;
}

// save downloads a chart as SVG or PNG.
export async function save(kind, name, { width, height, text }) {
  const file = name.replace(/[^\w.-]+/g, "-") + "." + kind;
  if (kind === "svg") return download(new Blob([text], { type: "image/svg+xml" }), file);
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => download(blob, file), "image/png");
}

function download(blob, file) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
