"""Looks for what an earlier submission left, which `writes_everywhere` tries to leave.

expect: returned
"""

import os


def run(x):
    return [f"{folder}/{name}" for folder in ("/tmp", "/dev/shm") for name in os.listdir(folder)]
