"""Uses no processor time, and never returns.

expect: time_limit
"""

import time


def run(x):
    time.sleep(10**6)
