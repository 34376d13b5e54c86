"""Reads far outside of everything.

expect: died
line: 11
"""

import ctypes


def run(x):
    return ctypes.string_at(0x7F)
