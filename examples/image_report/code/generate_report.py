"""Writes the picture and the table of its objects as one HTML page."""

import base64
import csv
import html

from flowforge import client

STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1c2126;background:#fff}
table{border-collapse:collapse;width:100%}td,th{padding:.3rem .6rem;border-bottom:1px solid #e3e6e9;text-align:right}
.figure{font-size:2.6rem;font-weight:650;margin:0}img{width:100%}"""


def main() -> None:
    with client.input_path("objects").open(newline="") as file:
        rows = list(csv.reader(file))
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    picture = base64.b64encode(client.input_path("marked").read_bytes()).decode()
    page = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Objects in the picture</title><style>{STYLE}</style>
<h1>Objects in the picture</h1><p class="figure">{client.inputs["count"]}</p><p>objects were found.</p>
<p><img alt="The picture with a box around each object" src="data:image/png;base64,{picture}"></p>
<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></html>"""
    client.output_path("report").write_text(page, encoding="utf-8")
    client.log(f"reported {client.inputs['count']} objects")


main()
