"""Closes every descriptor and waits.

expect: malformed
"""

import os
import time


def run(x):
    os.closerange(0, 256)
    time.sleep(1000)
