"""A second wall inside the first: the process gives up rights by itself, for good, through the kernel's Landlock.

Should a mount ever be writable that should not be, or a signal reach where it should not, this still holds. Where
the kernel has no Landlock, `restrict` does nothing: the first wall does not rest on it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable
from typing import Final

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
GET_VERSION: Final = 1
PATH_BENEATH: Final = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
ALL_OF_VERSION_1: Final = (1 << 13) - 1
REFER, TRUNCATE, IOCTL = 1 << 13, 1 << 14, 1 << 15  # since versions 2, 3 and 5
NO_TCP: Final = 0b11  # bind and connect, since version 4
NO_SIGNALS_OR_ABSTRACT_SOCKETS: Final = 0b11  # to processes outside, since version 6

LOOK: Final = EXECUTE | READ_FILE | READ_DIR


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """The kernel's Landlock version; 0 without it."""
    return max(_call(CREATE_RULESET, 0, 0, GET_VERSION), 0)


def restrict(writable: Iterable[str]) -> bool:
    """From now on this thread and all it starts may only look, and write below `writable`. False without Landlock.

    Devices and /proc stay as their own permissions have them. Needs no privileges, but "no new privileges".
    """
    known = version()
    if known < 1:
        return False
    everything = ALL_OF_VERSION_1 | (REFER if known >= 2 else 0) | (TRUNCATE if known >= 3 else 0)
    everything |= IOCTL if known >= 5 else 0
    rules = _Ruleset(everything, NO_TCP if known >= 4 else 0, NO_SIGNALS_OR_ABSTRACT_SOCKETS if known >= 6 else 0)
    ruleset = _call(CREATE_RULESET, ctypes.addressof(rules), ctypes.sizeof(rules), 0)
    if ruleset < 0:
        return False
    try:
        _allow(ruleset, "/", LOOK)
        for folder in ("/proc", "/dev"):
            _allow(ruleset, folder, (LOOK | WRITE_FILE | TRUNCATE | IOCTL) & everything)
        for folder in writable:
            _allow(ruleset, folder, everything)
        return _call(RESTRICT_SELF, ruleset, 0, 0) == 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, folder: str, access: int) -> None:
    with contextlib.suppress(OSError):  # a folder that is not there needs no right
        descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = _Beneath(access, descriptor)
            _call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.addressof(rule), 0)
        finally:
            os.close(descriptor)


def _call(number: int, *arguments: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(ctypes.c_long(number), *(ctypes.c_long(argument) for argument in arguments)))
