"""The system calls that no runner needs, as a compiled filter for bubblewrap's ``--seccomp``.

A list of denials, not of permissions: a runner on a GPU starts a C compiler and talks to a driver, so the list of
what it may do is long and moves with every release. What is denied here is what has let programs out of sandboxes,
or what would hide memory and processes from the limits.
"""

from __future__ import annotations

import errno
import os
from typing import Any, Final

# Refused with EPERM: the caller sees an ordinary error, and its traceback names its line.
# fmt: off
DENIED: Final = (
    # other processes' memory and state
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp",
    "pidfd_getfd",
    # the tree of mounts
    "mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount",
    "fspick", "pivot_root", "chroot",
    "open_by_handle_at", "name_to_handle_at",
    # namespaces; clone with namespace flags is below
    "unshare", "setns",
    # kernel surfaces with a long record of holes
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "add_key",
    "request_key", "keyctl",
    "fanotify_init", "quotactl", "quotactl_fd", "lookup_dcookie", "vmsplice",
    # the machine
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon",
    "swapoff", "acct", "syslog",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "iopl",
    "ioperm", "modify_ldt",
    "personality", "nfsservctl", "vhangup", "ustat", "sysfs", "uselib", "_sysctl",
    # memory policy across nodes and processes
    "move_pages", "migrate_pages", "memfd_secret",
)
# fmt: on

# Memory that no process need map is memory that no watch can see. CUDA's driver needs some of these.
DENIED_ON_CPU: Final = (
    *("memfd_create", "shmget", "semget", "msgget"),
    *("mbind", "set_mempolicy", "set_mempolicy_home_node"),
)

NAMESPACE_FLAGS: Final = (
    0x00020000,  # CLONE_NEWNS
    0x02000000,  # CLONE_NEWCGROUP
    0x04000000,  # CLONE_NEWUTS
    0x08000000,  # CLONE_NEWIPC
    0x10000000,  # CLONE_NEWUSER
    0x20000000,  # CLONE_NEWPID
    0x40000000,  # CLONE_NEWNET
    0x00000080,  # CLONE_NEWTIME
)
TIOCSTI: Final = 0x5412  # types into the terminal
TIOCLINUX: Final = 0x541C
AF_UNIX: Final = 1


def compile_filter(*, gpu: bool) -> int:
    """An open file descriptor with the filter as BPF, at its start. The caller closes it.

    Raises `OSError` or `ImportError` when libseccomp is missing.
    """
    import pyseccomp

    rules: Any = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)  # 32-bit calls have other numbers
    deny = pyseccomp.ERRNO(errno.EPERM)
    for name in (*DENIED, *(() if gpu else DENIED_ON_CPU)):
        if _known(pyseccomp, name):
            rules.add_rule(deny, name)
    for flag in NAMESPACE_FLAGS:
        # clone's low byte is the exit signal, which CLONE_NEWTIME overlaps: only clone3 can pass that one.
        if flag > 0xFF:
            rules.add_rule(deny, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    # clone3 passes its flags in memory, where no filter can look; C libraries fall back to clone on ENOSYS.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    rules.add_rule(deny, "socket", pyseccomp.Arg(0, pyseccomp.NE, AF_UNIX))
    for request in (TIOCSTI, TIOCLINUX):
        rules.add_rule(deny, "ioctl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, request))
    target = os.memfd_create("seccomp", 0)
    try:
        with os.fdopen(os.dup(target), "wb") as file:
            rules.export_bpf(file)
        os.lseek(target, 0, os.SEEK_SET)
    except BaseException:
        os.close(target)
        raise
    return target


def _known(pyseccomp: Any, name: str) -> bool:
    """Whether this machine has a call of that name; names that only other architectures know are not rules here."""
    try:
        return int(pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)) >= 0
    except (ValueError, OSError):
        return False
