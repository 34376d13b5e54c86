"""Fills shared memory, which the limit on private data does not count.

expect: out_of_memory
"""

import mmap


def run(x):
    kept = []
    while True:
        part = mmap.mmap(-1, 1 << 24)
        part.write(b"\xff" * len(part))
        kept.append(part)
