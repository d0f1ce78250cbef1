"""Shows executions and sweeps as HTML in notebooks. The text has the colors of the notebook."""

from __future__ import annotations

import html
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .exceptions import ServerError

CURVES = 12  # of one execution; its page shows all
_WIDTH, _HEIGHT, _MARGIN = 160, 40, 2


def run(url: str, found: Mapping[str, Any], series: Sequence[Mapping[str, Any]]) -> str:
    """Return the link, the state, the error and the curves of an execution."""
    progress, error = found.get("progress") or {}, found.get("error") or {}
    title = f"{found.get('name') or found.get('workflow_name') or 'execution'} {found['execution_id']}"
    done = f"{progress.get('completed', 0)} of {progress.get('total_operators', 0)} nodes"
    parts = [_head(url, title, str(found["status"]), done)]
    if error.get("message"):
        node = f"node {error['node']}: " if error.get("node") else ""
        parts.append(f'<div style="white-space:pre-wrap">{html.escape(node + str(error["message"]))}</div>')
    waits = [f"{one['operator']} waits: {one['reason']['message']}" for one in found.get("nodes") or () if (one.get("reason") or {}).get("message")]
    parts += [f"<div>{html.escape(text)}</div>" for text in waits[:3]]
    shown, more = _figures(series)
    parts += shown
    if more:
        parts.append(f'<div><a href="{html.escape(url)}" target="_blank">{more} more {"metric" if more == 1 else "metrics"}</a></div>')
    return f"<div>{''.join(parts)}</div>"


def sweep(url: str, found: Mapping[str, Any]) -> str:
    """Return the link, the state, the best run and the objectives of a sweep, in the order of its runs."""
    parts = [_head(url, str(found.get("name") or found["id"]), str(found["state"]), counts(found))]
    best = found.get("best")
    if best:
        values = ", ".join(f"{html.escape(path)} = {_text(value)}" for path, value in (best.get("values") or {}).items())
        parts.append(f"<div>best: {html.escape(objective(found))} = {_text(best.get('objective'))} ({values})</div>")
    if found.get("message"):
        parts.append(f"<div>{html.escape(str(found['message']))}</div>")
    ended = sorted((one for one in found.get("run_list") or () if one.get("objective") is not None), key=lambda one: int(one["index"]))
    if len(ended) > 1:
        points = [{"step": one["index"], "value": one["objective"]} for one in ended]
        parts.append(_figure(objective(found), [{"points": points}]))
    return f"<div>{''.join(parts)}</div>"


def unless_unreachable(read: Callable[[], str]) -> Optional[str]:
    """Return a text, or None if the server does not respond. Python shows values while it handles other errors."""
    try:
        return read()
    except ServerError:
        return None


def state(found: Mapping[str, Any]) -> str:
    """Return the state of a sweep and of its runs."""
    return f"{found['state']}, {counts(found)}"


def counts(found: Mapping[str, Any]) -> str:
    """Return how many runs of a sweep are in each state, such as "3 of 4 runs ended, 1 failed"."""
    by_state: Mapping[str, int] = found.get("counts") or {}
    ended = [(name, by_state.get(key, 0)) for key, name in (("failed", "failed"), ("cancelled", "cancelled"), ("stopped_early", "stopped early"), ("refused", "refused"))]
    total = sum(n for _, n in ended) + by_state.get("succeeded", 0)
    others = "".join(f", {n} {name}" for name, n in ended if n)
    planned = found.get("runs") or by_state.get("created", 0)
    return f"{total} of {planned} runs ended{others}"


def objective(found: Mapping[str, Any]) -> str:
    """Return the metric or the output that a sweep optimizes."""
    declared = found.get("objective") or {}
    return str(declared.get("metric") or declared.get("output") or "objective")


def _head(url: str, title: str, state: str, done: str) -> str:
    return f'<div><a href="{html.escape(url)}" target="_blank">{html.escape(title)}</a> <b>{html.escape(state)}</b> {html.escape(done)}</div>'


def _text(value: Any) -> str:
    return html.escape(f"{value:g}" if isinstance(value, float) else str(value))


def _figures(series: Sequence[Mapping[str, Any]]) -> Tuple[List[str], int]:
    """Return the first metrics of the nodes, and how many more there are. Use of the machine is on the page."""
    found: Dict[Tuple[str, str], List[Mapping[str, Any]]] = {}
    for s in sorted(series, key=lambda s: (str(s["name"]), str(s["node"]), int(s.get("attempt") or 0))):
        if not str(s["name"]).startswith("system."):
            found.setdefault((str(s["node"]), str(s["name"])), []).append(s)
    every = [figure for (node, name), attempts in found.items() for figure in [_figure(f"{node} {name}", attempts)] if figure]
    return every[:CURVES], max(0, len(every) - CURVES)


def _figure(name: str, attempts: Sequence[Mapping[str, Any]]) -> str:
    """Return the curve of a metric, with one line for each attempt, or "" without a finite value."""
    lines = [line for line in map(_points, attempts) if line]
    every = [point for line in lines for point in line]
    if not every:
        return ""
    caption = f"<figcaption>{html.escape(name)} {lines[-1][-1][1]:g}</figcaption>"
    drawn = "".join(f'<polyline fill="none" stroke="currentColor" points="{places}"/>' for places in (" ".join(_place(line, every)) for line in lines if len(line) > 1))
    svg = f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{html.escape(name)}">{drawn}</svg>' if drawn else ""
    return f'<figure style="display:inline-block;vertical-align:top;margin:4px 12px 4px 0">{caption}{svg}</figure>'


def _points(s: Mapping[str, Any]) -> List[Tuple[float, float]]:
    """Return steps and values. Without steps, the position is that of the point. Points without a finite value are left out."""
    steps = [p.get("step") for p in s["points"]]
    numbered = all(step is not None for step in steps)
    places = [(float(steps[i]) if numbered else float(i), _finite(p["value"])) for i, p in enumerate(s["points"])]
    return [(x, y) for x, y in places if y is not None]


def _finite(value: Any) -> Optional[float]:
    """Return a number, or None for NaN and infinity, which the API writes as strings."""
    return float(value) if isinstance(value, (int, float)) else None


def _place(line: Sequence[Tuple[float, float]], every: Sequence[Tuple[float, float]]) -> Iterator[str]:
    left, right = min(x for x, _ in every), max(x for x, _ in every)
    low, high = min(y for _, y in every), max(y for _, y in every)
    for x, y in line:
        across = _MARGIN + (_WIDTH - 2 * _MARGIN) * (x - left) / ((right - left) or 1)
        up = (y - low) / ((high - low) or 1)
        yield f"{across:.1f},{_HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * up:.1f}"
