"""Writes the figures and pictures of other libraries as images and as HTML. None of them is imported here."""

from __future__ import annotations

import base64
import html
import io
import struct
import zlib
from typing import Any

_PAGE = "<!doctype html><meta charset=\"utf-8\"><body style=\"font-family:sans-serif\">"


def is_picture(value: Any) -> bool:
    """Whether a value is a figure, such as those of matplotlib and seaborn, or a picture of Pillow."""
    return not isinstance(value, type) and (callable(getattr(value, "savefig", None)) or callable(getattr(value, "_repr_png_", None)))


def is_array(value: Any) -> bool:
    """Whether a value is an array of numpy, which an Image can contain."""
    return type(value).__module__ == "numpy" and type(value).__name__ == "ndarray"


def png(value: Any) -> bytes:
    """Return a figure, a picture or an array as PNG. Raises ValueError if that is not possible."""
    if is_array(value):
        return _png_of_array(value)
    if callable(getattr(value, "savefig", None)):
        file = io.BytesIO()
        value.savefig(file, format="png", bbox_inches="tight")
        return file.getvalue()
    found: Any = value._repr_png_()
    if not isinstance(found, bytes):
        raise ValueError(f"the {type(value).__name__} cannot be written as PNG")
    return found


_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # the color type of PNG by the number of channels


def _png_of_array(value: Any) -> bytes:
    """Return rows of pixels as PNG: integers from 0 to 255, or floats from 0 to 1, with 1 to 4 channels."""
    if value.dtype.kind == "b":
        value = value.astype("uint8") * 255
    if value.dtype.kind == "f":
        value = (value.clip(0, 1) * 255).round()
    channels = 1 if value.ndim == 2 else value.shape[-1]
    if value.ndim not in (2, 3) or channels not in _COLOURS or value.size == 0 or value.min() < 0 or value.max() > 255:
        raise ValueError(f"an array of shape {value.shape} is not an image: use height × width, or height × width × 1 to 4 channels, with integers from 0 to 255 or floats from 0 to 1")
    height, width = value.shape[:2]
    lines = b"".join(b"\0" + line.tobytes() for line in value.astype("uint8"))
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks)


def page(value: Any) -> str:
    """Return a report as HTML: text is HTML already, and a list is a page of its parts."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, (list, tuple)) else [value]
    return _PAGE + "\n".join(map(_part, parts)) + "\n"


def _part(value: Any) -> str:
    if isinstance(value, str):
        return value
    if is_picture(value):
        return f'<p><img alt="" style="max-width:100%" src="data:image/png;base64,{base64.b64encode(png(value)).decode()}"></p>'
    if type(value).__module__.partition(".")[0] == "plotly" and hasattr(value, "to_html"):
        return str(value.to_html(full_html=False, include_plotlyjs=True))
    shown = getattr(value, "_repr_html_", None)
    found = shown() if callable(shown) else None
    return found if isinstance(found, str) else f"<pre>{html.escape(str(value))}</pre>"
