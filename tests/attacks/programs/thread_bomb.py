"""Starts threads without end.

expect: raised
"""

import threading
import time


def run(x):
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
