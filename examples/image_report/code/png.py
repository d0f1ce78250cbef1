"""Reads and writes 8-bit PNG images (W3C, Portable Network Graphics, second edition)."""

import struct
import zlib
from pathlib import Path
from typing import Iterator, List, Tuple

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by colour type
MOST_PIXELS = 25_000_000

Grey = List[List[int]]  # rows of 0 black to 255 white


class PNGError(ValueError):
    """The file is not a picture that this module reads."""


def _chunks(data: bytes) -> Iterator[Tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8 : at + 8 + length]
        at += 12 + length


def _unfilter(raw: bytes, height: int, stride: int, step: int) -> List[bytearray]:
    """Undo the filter of each line (section 9)."""
    lines: List[bytearray] = []
    before = bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        if kind > 4:
            raise PNGError(f"line {y} has the unknown filter {kind}")
        for x in range(stride if kind else 0):
            left = line[x - step] if x >= step else 0
            up = before[x]
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) // 2
            else:
                corner = before[x - step] if x >= step else 0
                p = left + up - corner
                a, b, c = abs(p - left), abs(p - up), abs(p - corner)
                guess = left if a <= b and a <= c else up if b <= c else corner
            line[x] = (line[x] + guess) & 255
        lines.append(line)
        before = line
    return lines


def read(path: Path) -> Grey:
    """Return the brightness of each pixel; what is transparent is white."""
    data = path.read_bytes()
    if not data.startswith(SIGNATURE):
        raise PNGError("not a PNG file")
    header, body = b"", b""
    for kind, content in _chunks(data):
        if kind == b"IHDR":
            header = content
        elif kind == b"IDAT":
            body += content
    if len(header) != 13:
        raise PNGError("the header is missing")
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", header)
    if depth != 8 or colour not in CHANNELS or interlace:
        raise PNGError("only grey and colour pictures with 8 bits and without interlacing are read")
    if width * height > MOST_PIXELS:
        raise PNGError(f"{width} × {height} pixels are more than {MOST_PIXELS:,}")
    step = CHANNELS[colour]
    size = height * (width * step + 1)
    raw = zlib.decompressobj().decompress(body, size)
    if len(raw) < size:
        raise PNGError("the picture is cut short")
    return [_grey(line, step) for line in _unfilter(raw, height, width * step, step)]


def _grey(line: bytearray, step: int) -> List[int]:
    if step == 1:
        return list(line)
    pixels = [line[i : i + step] for i in range(0, len(line), step)]
    if step == 2:
        return [255 + (p[0] - 255) * p[1] // 255 for p in pixels]
    alpha = (lambda p: p[3]) if step == 4 else (lambda p: 255)
    return [255 + ((299 * p[0] + 587 * p[1] + 114 * p[2]) // 1000 - 255) * alpha(p) // 255 for p in pixels]


def write(path: Path, rows: List[bytes], colour: bool = False) -> None:
    """Write rows of bytes: one a pixel, or red, green and blue."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    width = len(rows[0]) // (3 if colour else 1)
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2 if colour else 0, 0, 0, 0)
    body = b"".join(b"\0" + row for row in rows)
    path.write_bytes(SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(body, 6)) + chunk(b"IEND", b""))
