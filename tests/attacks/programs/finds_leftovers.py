"""Looks for what an earlier submission left, which `writes_everywhere` tries to leave.

expect: returned
"""

import os


def run(x):
    names = ("/tmp/.bashrc", "/tmp/.config", "/tmp/left-behind", "/dev/shm/left-behind")
    return [name for name in names if os.path.exists(name)] + os.listdir("/dev/shm")
