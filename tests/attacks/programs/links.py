"""Puts links to files of the host into its folder, and reads through them.

expect: returned
"""

import os


def run(x):
    found = []
    for number, target in enumerate(("/etc/shadow", "/etc/passwd", "/root/.ssh", "/home", "/proc/1/root/etc/passwd")):
        os.symlink(target, f"/tmp/link{number}")
        try:
            found.append((target, os.listdir(f"/tmp/link{number}")))
        except OSError:
            pass
        try:
            found.append((target, open(f"/tmp/link{number}").read()[:100]))
        except OSError:
            pass
    for target in ("/usr/bin/env", "/proc/1/exe"):
        try:
            os.link(target, "/tmp/hard")
            found.append(target)
        except OSError:
            pass
    return found
