"""Fills every folder that can be written, each file within the limit of one.

expect: raised
"""

import itertools


def run(x):
    for number in itertools.count():
        with open(f"/dev/shm/{number}", "wb") as file:
            file.write(b"\0" * 1_000_000)
