"""Writes a file of 10 GB.

expect: raised
"""


def run(x):
    with open("/tmp/big", "wb") as file:
        for _ in range(10_000):
            file.write(b"\0" * 1_000_000)
