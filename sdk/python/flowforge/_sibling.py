"""Forks children of the parent of this process, as if the parent had forked them."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Optional, Set

from ._ending import LIBC

_PR_GET_TID_ADDRESS = 40
_SYS_CLONE3 = ctypes.c_long(435)
_SIZE_OF_ARGUMENTS = ctypes.c_size_t(64)
_SIZE_OF_LIST = ctypes.c_size_t(24)  # struct robust_list_head
_CLONE_PARENT, _CLONE_CHILD_CLEARTID, _CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000
# Numbers of get_robust_list(2) and set_robust_list(2), on machines of 64 bits.
_ROBUST_LIST = {"x86_64": (274, 273), "aarch64": (100, 99)}


_before_fork, _in_parent, _in_child = ctypes.pythonapi.PyOS_BeforeFork, ctypes.pythonapi.PyOS_AfterFork_Parent, ctypes.pythonapi.PyOS_AfterFork_Child


class Sibling:
    """Forks with clone3(2).

    The C library does not notice such a fork: functions of pthread_atfork(3) do not run. What the
    library does for the thread of a new process is done here. It keeps a copy of the thread's ID,
    and tells the kernel the list of the thread's robust mutexes.
    """

    def __init__(self, thread: int, get_mutexes: int, set_mutexes: int) -> None:
        flags = _CLONE_PARENT | _CLONE_CHILD_SETTID | _CLONE_CHILD_CLEARTID
        self._arguments = (ctypes.c_uint64 * 8)(flags, 0, thread)  # struct clone_args
        self._get_mutexes, self._set_mutexes = ctypes.c_long(get_mutexes), ctypes.c_long(set_mutexes)
        self._list = ctypes.c_void_p(self.mutexes())

    def fork(self) -> int:
        """Return 0 in the child, its ID in this process, and -1 if the kernel refuses."""
        _before_fork()
        pid: int = LIBC.syscall(_SYS_CLONE3, self._arguments, _SIZE_OF_ARGUMENTS)
        if pid == 0:
            LIBC.syscall(self._set_mutexes, self._list, _SIZE_OF_LIST)
            _in_child()
        else:
            _in_parent()
        return pid

    def mutexes(self, thread: int = 0) -> int:
        """Return the address of a thread's list of robust mutexes, or 0."""
        head, size = ctypes.c_void_p(), ctypes.c_size_t()
        LIBC.syscall(self._get_mutexes, ctypes.c_long(thread), ctypes.byref(head), ctypes.byref(size))
        return head.value or 0


def libraries() -> Set[str]:
    """Return the files whose code this process has loaded."""
    with open("/proc/self/maps") as maps:
        return {line.split(None, 5)[5].strip() for line in maps if " r-xp " in line and "/" in line}


def find(harmless: Set[str]) -> Optional[Sibling]:
    """Return what forks siblings, or None if siblings would differ from other new processes.

    Libraries can register functions with pthread_atfork(3), unless they are harmless or modules
    of the interpreter. The C library must keep the thread's ID where the kernel clears it, as
    glibc does.
    """
    folders = tuple(os.path.realpath(path) + os.sep for path in sys.path if os.path.basename(path) == "lib-dynload")
    if not all(path.startswith(folders) for path in libraries() - harmless):
        return None
    numbers = _ROBUST_LIST.get(os.uname().machine)
    thread = ctypes.c_void_p()
    if numbers is None or LIBC.prctl(_PR_GET_TID_ADDRESS, ctypes.byref(thread), 0, 0, 0) != 0 or not thread.value:
        return None
    if ctypes.c_int.from_address(thread.value).value != os.getpid():
        return None
    found = Sibling(thread.value, *numbers)
    return found if found.mutexes() else None
