"""The common part of the adapters.

An adapter is a process. It prints one line of JSON when its peer is ready, reads the name of a
workload from each line of its input, runs it, and prints the time or the error. It stops its peer
and ends when its input ends.
"""

import json
import os
import socket
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request
from importlib.metadata import version

CHAIN, WIDE = 40, 200  # processes
FUNCTIONS, ITEMS = 20, 100  # Python functions
WIDTH = 8  # concurrent tasks of peers that require a number

# Standard output is the channel to the benchmark. What the peer prints goes to the log instead.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

folder = os.environ["PEER_FOLDER"]
database = os.environ.get("PEER_DATABASE", "")
python_folder = os.path.dirname(sys.executable)  # with the commands of the peer


def true():
    """Run the process that a node of the shell workloads runs."""
    subprocess.run(["/bin/true"], check=True)


def expect(value, expected):
    """Fail unless a workload returned the value that it must return."""
    if value != expected:
        raise AssertionError(f"the result is {value!r} instead of {expected!r}")


def timed(function):
    """Return a workload that measures a call."""

    def workload():
        begin = time.perf_counter()
        function()
        return time.perf_counter() - begin

    return workload


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def request(method, url, body=None, token=None):
    """Send JSON and return the decoded response."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = "Bearer " + token
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(call, timeout=60) as response:
        return json.load(response)


def until(check, limit, what):
    """Repeat a check until it returns a value, and return the value."""
    end = time.monotonic() + limit
    while True:
        try:
            found = check()
        except (OSError, urllib.error.URLError):
            found = None
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"{what} is not ready after {limit} s")
        time.sleep(0.05)


def start(*command):
    """Start a server of the peer. It ends with the adapter."""
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL)


def serve(package, workloads, servers=()):
    """Run workloads by name until the input ends, then stop the servers."""

    def answer(**fields):
        print(json.dumps(fields), file=answers, flush=True)

    answer(version=version(package))
    for line in sys.stdin:
        try:
            answer(seconds=workloads[line.strip()]())
        except Exception as e:  # the peer's errors belong to the table
            traceback.print_exc()
            answer(error=f"{type(e).__name__}: {e}"[:500])
    for server in servers:
        server.terminate()
    for server in servers:
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
