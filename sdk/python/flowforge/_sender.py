"""Sends log lines, metric points and the latest status in the background."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Tuple

from . import _encoding
from ._config import Config
from ._transport import Refused, Transport, Unreachable

BATCH = 500  # messages per call
TEXT = 2 << 20  # characters per call, so that the server and the runner accept its size
INTERVAL = 0.25  # seconds that a message may wait for a fuller batch
BUFFER = 20_000  # messages kept in memory while the server is unreachable
CLOSE_TIMEOUT = 4.0  # seconds that the exit of the program may wait
CALL_TIMEOUT = 5.0  # seconds
BACKOFF = (0.2, 5.0)  # seconds: first and longest pause

Message = Tuple[str, Dict[str, Any]]  # "logs" or "metrics", and the entry


class Sender:
    """A buffer with a thread that sends its messages.

    No message is lost while the server is unreachable: messages that do not fit into the
    buffer, or are left when the program exits, go to the spool directory. The runner
    delivers them from there.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._transport = Transport(config)
        self._wake = threading.Condition()
        self._messages: Deque[Message] = deque()
        self._latest: Dict[str, Dict[str, Any]] = {}  # method → latest message
        self._in_flight = False
        self._flush_now = False  # send without waiting for a fuller batch
        self._closing = threading.Event()
        self._deadline: Optional[float] = None  # set by close
        self._thread: Optional[threading.Thread] = None
        self._sequence = 0
        self._offset = 37 * (config.rank or 0)  # processes in different pods may have equal PIDs
        self._warned = False

    def add(self, kind: str, entry: Dict[str, Any]) -> None:
        """Queue an entry and give it the next sequence number."""
        with self._wake:
            entry["sequence"] = str(self._next_sequence())
            self._messages.append((kind, entry))
            overflow = self._take(BATCH) if len(self._messages) > BUFFER else []
            self._start()
            self._wake.notify()
        if overflow:
            self._spool(overflow)

    def replace(self, method: str, message: Dict[str, Any]) -> None:
        """Queue a message and replace a waiting message of the same method.

        Fields that the new message does not set keep their waiting value, as if both
        messages had been sent.
        """
        with self._wake:
            self._latest[method] = {**self._latest.get(method, {}), **message}
            self._start()
            self._wake.notify()

    def flush(self, timeout: float) -> bool:
        """Wait up to timeout seconds until all messages are sent."""
        end = time.monotonic() + timeout
        with self._wake:
            self._flush_now = True
            self._wake.notify()
            try:
                while self._messages or self._latest or self._in_flight:
                    left = end - time.monotonic()
                    if left <= 0:
                        return False
                    self._wake.wait(min(left, 0.05))
            finally:
                self._flush_now = False
        return True

    def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """Send the remaining messages, spool the unsent ones, and stop the thread."""
        with self._wake:
            if self._deadline is not None:
                return
            self._deadline = time.monotonic() + timeout
            self._closing.set()
            thread = self._thread
            self._wake.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout + CALL_TIMEOUT)
        while True:
            with self._wake:
                left = self._take(BATCH)
            if not left:
                return
            self._spool(left)

    def forget(self) -> None:
        """Reset the state in a child process. The parent sends the queued messages."""
        self._wake = threading.Condition()
        self._messages.clear()
        self._latest.clear()
        self._in_flight = False
        self._closing = threading.Event()
        self._deadline = None
        self._thread = None

    def _next_sequence(self) -> int:
        # The number grows with time and differs between the processes of one task.
        now = (time.time_ns() // 1000) << 10
        self._sequence = max(self._sequence + 1024, now | ((os.getpid() + self._offset) & 1023))
        return self._sequence

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="flowforge", daemon=True)
            self._thread.start()

    def _take(self, count: int) -> List[Message]:
        """Remove up to count messages, and at most TEXT characters unless one message has more."""
        taken: List[Message] = []
        room = TEXT
        while self._messages and len(taken) < count:
            room -= sum(len(text) for text in self._messages[0][1].values() if isinstance(text, str))
            if taken and room < 0:
                break
            taken.append(self._messages.popleft())
        return taken

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._messages and not self._latest and self._deadline is None:
                    self._wake.wait()
                self._gather()
                batch = self._take(BATCH)
                latest, self._latest = self._latest, {}
                if not batch and not latest:
                    return
                self._in_flight = True
            left = self._deliver(batch, latest)
            with self._wake:
                self._in_flight = False
                self._messages.extendleft(reversed(left))
                self._wake.notify_all()
                if left and self._expired():
                    return

    def _gather(self) -> None:
        """Wait for more messages to fill a batch."""
        end = time.monotonic() + INTERVAL
        while len(self._messages) < BATCH and self._deadline is None and not self._flush_now:
            left = end - time.monotonic()
            if left <= 0:
                return
            self._wake.wait(left)

    def _expired(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _deliver(self, batch: List[Message], latest: Dict[str, Dict[str, Any]]) -> List[Message]:
        """Send with retries until the deadline and return the unsent messages."""
        calls = list(latest.items())
        if batch:
            calls.insert(0, ("Send", self._request(batch)))
        pause = BACKOFF[0]
        while calls:
            method, message = calls[0]
            timeout = CALL_TIMEOUT
            if self._deadline is not None:
                timeout = max(0.2, min(timeout, self._deadline - time.monotonic()))
            try:
                self._transport.call(method, message, timeout)
            except Refused as err:
                self._warn(f"the server rejected {method}: {err}")
            except Unreachable:
                if self._expired():
                    return batch if method == "Send" else []
                self._rest(pause)
                pause = min(pause * 2, BACKOFF[1])
                continue
            calls.pop(0)
        return []

    def _rest(self, pause: float) -> None:
        """Pause before the next try. close shortens a long pause but keeps a minimum."""
        if self._closing.is_set() or self._closing.wait(pause):
            time.sleep(BACKOFF[0])

    def _request(self, batch: List[Message]) -> Dict[str, Any]:
        config = self._config
        request: Dict[str, Any] = {"taskId": config.task_id, "podName": config.pod, "nodeName": config.machine, "logs": [], "metrics": []}
        for kind, entry in batch:
            request[kind].append(entry)
        return request

    def _spool(self, batch: List[Message]) -> None:
        folder = self._config.spool
        if folder is None:
            self._warn(f"the server is unreachable and there is no spool directory: {len(batch)} messages are lost")
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # The sequence number is unique: other threads and later senders spool to the same folder.
            target = folder / f"{os.getpid()}-{batch[0][1]['sequence']}.json"
            partial = target.with_suffix(".partial")
            partial.write_bytes(_encoding.message(self._request(batch)))
            partial.replace(target)
        except OSError as err:
            self._warn(f"the server is unreachable and {folder} cannot be written: {err}")

    def _warn(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            print("flowforge: " + text, file=sys.stderr)
