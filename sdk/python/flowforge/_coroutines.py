"""Runs async operators."""

from __future__ import annotations

import types
from typing import Any


def finished(returned: Any) -> Any:
    """Return what a function returned, or the result of its coroutine.

    A thread that already runs an event loop, as the kernel of a notebook does, cannot run
    another, so the coroutine then runs in a thread of its own.
    """
    if not isinstance(returned, types.CoroutineType):
        return returned
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(returned)
    import contextvars
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "flowforge-async") as threads:
        return threads.submit(contextvars.copy_context().run, asyncio.run, returned).result()
