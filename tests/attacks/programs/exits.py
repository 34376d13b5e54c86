"""Ends the process as if all were well.

expect: died
"""

import os


def run(x):
    os._exit(0)
