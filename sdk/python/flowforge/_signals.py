"""Sends the last reports of a task when a signal or an exception ends its program."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Type

if TYPE_CHECKING:
    from ._client import Client


def flush_on_sigterm(client: Client) -> None:
    """Send the remaining reports on SIGTERM, then end with that signal.

    A handler that the program installed stays in place. It can call client.close().
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return

    def stop(signum: int, frame: Any) -> None:
        # The interrupted code may hold the lock of the buffer, so use other threads.
        saving = threading.Thread(target=client._save_stopped, daemon=True)
        saving.start()
        saving.join()
        closing = threading.Thread(target=client.close, daemon=True)
        closing.start()
        closing.join(3.0)
        # A signal that interrupts a write to standard output cannot flush it: Python refuses
        # the reentrant call.
        with contextlib.suppress(RuntimeError, OSError, ValueError):
            sys.stdout.flush()
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    signal.signal(signal.SIGTERM, stop)


def save_on_exception(client: Client) -> None:
    """Run the on_failure callbacks when an exception ends the program."""
    before = sys.excepthook

    def failed(kind: Type[BaseException], problem: BaseException, trace: Optional[TracebackType]) -> None:
        client._save("on_failure", client._on_failure)
        before(kind, problem, trace)

    sys.excepthook = failed
