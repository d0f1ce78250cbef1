"""Shows executions and sweeps in notebooks, and updates what it shows until they end."""

from __future__ import annotations

import importlib
import threading
import time
from typing import Any, Callable, Tuple

from . import _place
from ._api import passes
from .exceptions import ServerError

EVERY = 1.0  # seconds between updates
Read = Callable[[], Tuple[str, bool]]  # HTML, and whether it is final


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which can update what it has shown."""
    return getattr(_place.shell(), "kernel", None) is not None


def show(read: Read, block: bool) -> bool:
    """Show HTML and update it until it is final. Return whether it is, which is False after an interrupt.

    Without block, a thread updates it. Raises ServerError if the server does not respond for long.
    """
    display: Any = importlib.import_module("IPython.display")
    html, ended = read()
    handle = display.display(display.HTML(html), display_id=True)
    if ended:
        return True
    update: Callable[[str], Any] = lambda text: handle.update(display.HTML(text))
    if not block:
        threading.Thread(target=_update_quietly, args=(read, update, html), name="flowforge-watch", daemon=True).start()
        return False
    try:
        _update(read, update)
        return True
    except KeyboardInterrupt:
        return False


def _update(read: Read, update: Callable[[str], Any], pause: Callable[[float], Any] = time.sleep) -> None:
    ended, answered = False, time.monotonic()
    while not ended:
        pause(EVERY)
        sent = time.monotonic()
        try:
            html, ended = read()
            answered = time.monotonic()
        except ServerError as err:
            if not passes(err, sent, answered):
                raise
            continue
        update(html)


def _update_quietly(read: Read, update: Callable[[str], Any], html: str) -> None:
    try:
        _update(read, update)
    except ServerError:
        update(f"{html}<div>The server does not respond, so this is no longer updated.</div>")
