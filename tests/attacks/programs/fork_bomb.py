"""Every process keeps starting processes.

expect: time_limit
"""

import os


def run(x):
    while True:
        try:
            os.fork()
        except OSError:
            pass
