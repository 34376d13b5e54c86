"""Sends a message of a few megabytes that would become gigabytes of objects in the judge.

expect: malformed
"""

import os
import time


def run(x):
    size = 1 << 22
    message = (size + 5).to_bytes(4, "big") + b"\xdd" + size.to_bytes(4, "big") + b"\x90" * size
    for descriptor in range(3, 256):
        try:
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket"):
                view = memoryview(message)
                while view:
                    view = view[os.write(descriptor, view) :]
        except OSError:
            pass
    time.sleep(1000)
