"""Reads what /proc tells about others: environments, memory, open files, the command line of process 1.

expect: returned
"""

import os


def run(x):
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        for mode in ("rb", "r+b"):
            try:
                open(f"/proc/{name}/mem", mode).close()  # asks for the right to trace, before anything is read
                found.append([name, "mem", mode])
            except OSError:
                pass
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                found += [[name, "environ"]] if file.read() else []
        except OSError:
            pass
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
