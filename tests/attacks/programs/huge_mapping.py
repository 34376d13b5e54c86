"""Maps 100 GB of anonymous memory, private.

expect: out_of_memory
"""

import mmap


def run(x):
    mmap.mmap(-1, 100 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return ["100 GB mapped"]
