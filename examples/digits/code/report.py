"""Writes the report as one HTML page."""

import base64
import csv
import datetime
import html
from pathlib import Path
from typing import List

from flowforge import client

STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1c2126;background:#fff}
table{border-collapse:collapse;width:100%}td,th{padding:.3rem .6rem;border-bottom:1px solid #e3e6e9;text-align:right}th:first-child,td:first-child{text-align:left}
.figure{font-size:2.6rem;font-weight:650}img{max-width:100%}polyline{fill:none;stroke:#2166c8;stroke-width:2}svg{width:100%;height:auto}"""


def rows_of(path: Path) -> List[List[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def as_table(rows: List[List[str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def curve(rows: List[List[str]]) -> str:
    values = [float(row[3]) for row in rows[1:]]
    low, high = min(values), max(max(values), min(values) + 1e-6)
    points = " ".join(
        f"{10 + 580 * i / max(len(values) - 1, 1):.1f},{140 - 120 * (v - low) / (high - low):.1f}" for i, v in enumerate(values)
    )
    return f'<svg viewBox="0 0 600 150" role="img" aria-label="Accuracy per epoch"><polyline points="{points}"/></svg>'


def main() -> None:
    day = client.inputs.get("as_of") or datetime.date.today().isoformat()
    accuracy = float(client.inputs["accuracy"])
    history = rows_of(client.input_path("history"))
    picture = base64.b64encode(client.input_path("mistakes").read_bytes()).decode()
    page = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Handwritten digits, {day}</title><style>{STYLE}</style>
<h1>Handwritten digits</h1><p>{html.escape(str(day))} · {client.inputs["rows"]:,} images · {len(history) - 1} epochs</p>
<p class="figure">{100 * accuracy:.2f} %</p><p>of the held-out images are read as the digit that they show.</p>
<h2>Accuracy per epoch</h2>{curve(history)}
<h2>Per digit</h2>{as_table(rows_of(client.input_path("per_class")))}
<h2>Mistakes</h2><p><img alt="Images that the model gets wrong" src="data:image/png;base64,{picture}"></p></html>"""
    client.output_path("report").write_text(page, encoding="utf-8")


main()
