"""Tries to change what the next submission would see.

expect: returned
"""

import os
import sys


def run(x):
    found = []
    places = {"/", "/usr/lib", "/usr/bin", "/etc", "/dev", "/runner", "/runner/grader", "/proc"}
    places |= {sys.prefix, sys.base_prefix, *filter(None, sys.path)} | {os.path.dirname(os.__file__)}
    for place in places:
        try:
            with open(os.path.join(place, "left-behind"), "w"):
                found.append(place)
        except OSError:
            pass
    for path in ("/runner/grader/inside.py", os.__file__, sys.executable):
        try:
            with open(path, "r+"):
                found.append(path)
        except OSError:
            pass
    for path in (".bashrc", ".config"):
        with open(f"/tmp/{path}", "w") as file:
            file.write("left behind")
    with open("/dev/shm/left-behind", "w") as file:
        file.write("left behind")
    return found
