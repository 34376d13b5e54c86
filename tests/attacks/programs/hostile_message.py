"""Raises an error whose message is ten megabytes of control characters, and whose name is not text.

expect: raised
"""


class Error(Exception):
    def __str__(self):
        return "\x00\x1b[2J{{7*7}}%s\ud800" * 1_000_000


def run(x):
    raise Error
