"""Runs shell scripts and programs of operators in plain Python."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, Mapping

from ._schema import Type
from ._signature import Signature
from .exceptions import OutputError

_TEXTS = {"String", "Text", "Enum", "Date", "DateTime", "Duration"}


def run(section: Mapping[str, Any], options: Mapping[str, Any], signature: Signature, given: Mapping[str, Any]) -> Any:
    """Run the program with the environment of a task and return its outputs."""
    values: Dict[str, Any] = {}
    for p in signature.parameters:
        if p.name in given or not p.required:
            value = given.get(p.name, p.default)
            values[p.name] = os.fspath(value) if isinstance(value, os.PathLike) else p.type.encode(value)
    with tempfile.TemporaryDirectory(prefix="flowforge-") as folder:
        inputs, outputs = Path(folder, "inputs.json"), Path(tempfile.mkdtemp(prefix="flowforge-outputs-"))
        inputs.write_text(json.dumps(values), encoding="utf-8")
        environment = {**os.environ, **options.get("environment", {}), "FLOWFORGE_INPUTS": str(inputs), "FLOWFORGE_OUTPUTS": str(outputs)}
        for name, value in values.items():
            if isinstance(value, (str, int, float, bool)):
                environment["FLOWFORGE_PARAM_" + name.upper()] = value if isinstance(value, str) else json.dumps(value)
        code = section["code"]
        argv = code.get("command") or ["/bin/sh", "-e", "-c", code["script"]]
        subprocess.run(argv, env=environment, cwd=folder, check=True)
        results = [_read(outputs, r.name, r.type) for r in signature.results]
    if not signature.results:
        return None
    return results[0] if signature.single else signature.build(results)


def _read(folder: Path, name: str, t: Type) -> Any:
    found = sorted(p for p in folder.iterdir() if p.name == name or p.name.startswith(name + "."))
    if not found:
        if t.optional:
            return None
        raise OutputError(f"the program wrote no output {name!r}")
    if t.blob:
        return t.decode(str(found[0]))
    text = found[0].read_text(encoding="utf-8")
    if t.kind in _TEXTS and found[0].suffix != ".json":
        return t.decode(text.rstrip("\n"))
    return t.decode(json.loads(text))

