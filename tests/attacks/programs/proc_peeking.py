"""Reads what /proc tells about others: environments, memory, open files, the command line of process 1.

expect: returned
"""

import os


def run(x):
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        for part in ("environ", "mem", "maps"):
            try:
                with open(f"/proc/{name}/{part}", "rb") as file:
                    text = file.read(1 << 16)
            except OSError:
                continue
            if text and part != "maps":
                found.append([name, part, len(text)])
            if part == "environ" and b"=" in text:
                found.append([name, "environ", "variables"])
        try:
            for link in os.listdir(f"/proc/{name}/fd"):
                target = os.readlink(f"/proc/{name}/fd/{link}")
                if target.startswith("/") and not target.startswith(("/dev/", "/proc")):
                    found.append([name, "fd", target])
        except OSError:
            pass
    if "TILEWRIGHT_TEST_SECRET" in os.environ:
        found.append("the judge's environment")
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"):
        try:
            with open(path, "w"):
                found.append(["writable", path])
        except OSError:
            pass
    return found
