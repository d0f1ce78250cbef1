"""Writes grey images as PNG (W3C, Portable Network Graphics, second edition)."""

import struct
import zlib
from pathlib import Path
from typing import List


def write(path: Path, pixels: List[List[int]]) -> None:
    """Write rows of bytes, 0 black to 255 white."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 0, 0, 0, 0)
    body = b"".join(b"\0" + bytes(row) for row in pixels)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b""))
