"""A sibling is forked by this process, and is a child of the parent of this process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import List

import pytest

_PROGRAM = """
import os, signal, sys, threading, time
from flowforge import _sibling
found = _sibling.find(_sibling.libraries())
if found is None:
    print("none")
    sys.exit()
registered = []
os.register_at_fork(before=lambda: registered.append("before"), after_in_parent=lambda: registered.append("parent"), after_in_child=lambda: registered.append("child"))
begin = time.thread_time()
while time.thread_time() < begin + 0.05: pass
parent, thread, read = os.getppid(), threading.get_native_id(), os.pipe()
pid = found.fork()
if pid == 0:
    signal.signal(signal.SIGUSR1, lambda *a: print("signal", flush=True))
    signal.raise_signal(signal.SIGUSR1)
    clock = time.clock_gettime(time.pthread_getcpuclockid(threading.get_ident()))  # asks the C library for the thread's ID
    print(os.getppid() == parent, threading.get_native_id() == os.getpid() != thread, clock < 0.05, registered, flush=True)
    print(found.mutexes() == found.mutexes(os.getpid()) != 0, flush=True)
    os._exit(0)
os.close(read[1])
os.read(read[0], 1)  # the child has ended
print(registered, pid > 0)
"""


def _run(program: str) -> List[str]:
    # Without another process between them, the sibling would be a child of the tests.
    between = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', sys.argv[1]]).returncode)"
    done = subprocess.run([sys.executable, "-c", between, program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_sibling_is_a_new_process_for_the_c_library() -> None:
    lines = _run(_PROGRAM)
    if lines == ["none"]:
        pytest.skip("this machine or its C library has no siblings")
    assert lines == ["signal", "True True True ['before', 'child']", "True", "['before', 'parent'] True"]


def test_libraries_that_may_react_to_forks() -> None:
    lines = _run("import sys\nfrom flowforge import _sibling\nown = _sibling.libraries()\nfirst = _sibling.find(own)\n"
                 "import _decimal\nprint((_sibling.find(own) is None) == (first is None))\nprint(_sibling.find(set()))")
    assert lines == ["True", "None"]
