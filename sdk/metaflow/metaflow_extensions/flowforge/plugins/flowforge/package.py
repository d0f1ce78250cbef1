"""Packs the code of a flow for FlowForge."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import Dict, Tuple

LIST = ".mf_files"  # the names of the files of a package, one in each line

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
    digest = hashlib.sha256()
    for name, (data, mode) in sorted(files.items()):
        digest.update(f"{name}\0{mode}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    files[LIST] = ("\n".join(sorted(files)).encode(), 0o644)
    return _archive(files), digest.hexdigest()


def again(folder: str) -> bytes:
    """Return the code package that was unpacked in a folder, without what was written there since."""
    names = Path(folder, LIST).read_text(encoding="utf-8").split("\n")
    files = {name: Path(folder, name) for name in names if Path(folder, name).is_file()}
    return _archive({name: (path.read_bytes(), path.stat().st_mode & 0o777) for name, path in files.items()})


def _archive(files: Dict[str, Tuple[bytes, int]]) -> bytes:
    inner, packed = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as target:
        for name, (data, mode) in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), mode
            target.addfile(info, io.BytesIO(data))
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, compresslevel=6) as zipped:
        zipped.write(inner.getvalue())
    return packed.getvalue()
