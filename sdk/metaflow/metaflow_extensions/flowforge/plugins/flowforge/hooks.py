"""Translates @exit_hook to operators that run after all others."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence


def operators(flow: Any, common: Mapping[str, Any], packages: Sequence[str], inputs: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Return one operator for each function of the exit hooks, with inputs that all operators have."""
    found: List[Dict[str, Any]] = []
    for decorator in flow._flow_decorators.get("exit_hook", ()):
        for status, functions in (("SUCCEEDED", decorator.success_hooks), ("FAILED", decorator.error_hooks)):
            for function in functions:
                found.append(_operator(len(found), function, status, common, packages, inputs))
    return found


def _operator(index: int, function: str, status: str, common: Mapping[str, Any], packages: Sequence[str], inputs: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    environment = dict(common["environment"])
    code = {**common["code"], "args": ["--hook", function]}
    if "VIRTUAL_ENV" not in environment and packages:
        code["requirements"] = list(packages)
    name = "".join(c if c.isalnum() or c in "_-" else "-" for c in function.rpartition(".")[2])
    return {
        "name": f"hook-{index + 1}-{name}"[:63],
        "type": "python",
        "description": f"The exit hook {function}.",
        "when": f'execution.status == "{status}"',
        **({"inputs": [*inputs]} if inputs else {}),
        "environment": environment,
        "code": code,
    }
