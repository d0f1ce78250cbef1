"""Prints what processes cost on this machine, in milliseconds, as JSON."""

import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import time

import flowforge

for name in ("_task", "_sender", *flowforge._LATER):
    importlib.import_module("flowforge." + name)
gc.collect()
gc.freeze()


def milliseconds(call, repeat):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


print(json.dumps({
    "interpreter": milliseconds(lambda: subprocess.run([sys.executable, "-c", "pass"]), 30),
    "sdk": milliseconds(lambda: subprocess.run([sys.executable, "-c", "import flowforge._task, flowforge._operator"]), 15),
    "fork": milliseconds(fork, 200),
    "true": milliseconds(lambda: subprocess.run(["/bin/true"]), 100),
}))
