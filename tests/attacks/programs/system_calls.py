"""Tries the system calls that have let programs out of sandboxes.

expect: returned
"""

import ctypes
import os
import platform

# x86-64 numbers; on another machine the names below do not apply and nothing is tried
CALLS = {
    "ptrace": (101, 16, 1, 0, 0),
    "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
    "mount": (165, b"none", b"/tmp", b"tmpfs", 0, 0),
    "umount2": (166, b"/proc", 2),
    "pivot_root": (155, b"/tmp", b"/tmp"),
    "chroot": (161, b"/tmp"),
    "unshare(user)": (272, 0x10000000),
    "unshare(net)": (272, 0x40000000),
    "clone(user)": (56, 0x10000000 | 17, 0, 0, 0, 0),
    "clone3": (435, 0, 0),
    "bpf": (321, 0, 0, 0),
    "perf_event_open": (298, 0, 0, -1, -1, 0),
    "keyctl": (250, 0, -3, 1),
    "add_key": (248, b"user", b"a", b"b", 1, -3),
    "userfaultfd": (323, 0),
    "io_uring_setup": (425, 4, b"\0" * 120),
    "personality": (135, 0x0040000),
    "open_by_handle_at": (304, -100, b"\0" * 32, 0),
    "memfd_create": (319, b"x", 0),
    "shmget": (29, 0, 4096, 0o1777),
    "setns": (308, 0, 0),
    "fsopen": (430, b"tmpfs", 0),
    "open_tree": (428, -100, b"/", 1),
    "kexec_load": (246, 0, 0, 0, 0),
    "init_module": (175, b"", 0, b""),
    "reboot": (169, 0, 0, 0),
    "setuid(0)": (105, 0),
    "setgid(0)": (106, 0),
    "sethostname": (170, b"x", 1),
    "mknod(disk)": (133, b"/tmp/disk", 0o060666, 0x0800),
}


def run(x):
    libc = ctypes.CDLL(None, use_errno=True)
    if platform.machine() != "x86_64":
        return []
    parent, found = os.getpid(), []
    for name, (number, *arguments) in CALLS.items():
        result = libc.syscall(number, *(a if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments))
        if os.getpid() != parent:
            os._exit(0)
        if result >= 0:
            found.append(name)
    return found
