"""Packs the code of a flow for FlowForge."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from typing import Dict, Tuple

# Metaflow itself is part of the environment of the tasks: there, its bytecode is compiled once.
METAFLOW = ".mf_code/metaflow/"
LIMIT = 64 << 20  # bytes of all files


def pack(blob: bytes) -> Tuple[bytes, str]:
    """Return a code package of Metaflow without Metaflow itself, and a hash of its files.

    The bytes depend only on names, contents and executable bits.
    """
    files: Dict[str, Tuple[bytes, int]] = {}
    with tarfile.open(fileobj=io.BytesIO(blob), mode="r:gz") as source:
        for member in source.getmembers():
            name = member.name[2:] if member.name.startswith("./") else member.name
            file = source.extractfile(member) if member.isfile() else None
            if file is not None and not name.startswith(METAFLOW):
                files[name] = (file.read(), 0o755 if member.mode & 0o100 else 0o644)
    inner, digest = io.BytesIO(), hashlib.sha256()
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as target:
        for name, (data, mode) in sorted(files.items()):
            digest.update(f"{name}\0{mode}\0{hashlib.sha256(data).hexdigest()}\n".encode())
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), mode
            target.addfile(info, io.BytesIO(data))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, compresslevel=6) as zipped:
        zipped.write(inner.getvalue())
    return packed.getvalue(), digest.hexdigest()
