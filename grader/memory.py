"""How far memory grows during a call of plain Python code: what "no S×S matrix" is judged by in the CPU lane.

The kernel counts the most that a process ever held resident, and sets that count back on request. Two things
besides the learner's tensors move it, and are taken out: buffers that the C library keeps after they are freed, and
pages of libraries that a first use brings in from disk.
"""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path
from typing import Final

LARGE_BLOCK: Final = 64 << 10  # bytes from which a buffer is a mapping of its own, gone when it is freed
MMAP_THRESHOLD: Final = -3  # the C library's number for that setting
MAPPED_LATE: Final = 4 << 20  # bytes of libraries that a call may bring in without their being counted


def settle() -> None:
    """Have large buffers given back when they are freed. Before there are any.

    The C library would rather keep them, the more the larger it has seen: then the same call grows by several
    buffers more or less from one run to the next, and a matrix may lie unseen in what was kept.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, LARGE_BLOCK)


class Resident:
    """Resident memory of this process; its peak since `reset_peak`."""

    def __init__(self) -> None:
        self._files = 0

    def reset_peak(self) -> int:
        """Start counting anew; bytes resident now."""
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # small blocks add up, and could be reused unseen
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self._files, resident = status_bytes("RssFile", "VmRSS")
        return resident

    def peak(self) -> int:
        """Most bytes resident since then, without what libraries brought in; 0 where that can't be told."""
        most, files = status_bytes("VmHWM", "RssFile")
        late = files - self._files
        return most - min(max(late, 0), MAPPED_LATE) if most else 0


def status_bytes(*names: str) -> list[int]:
    """Figures of this process as the kernel has them; 0 where it has none. One reading: it takes longer than a
    small kernel's operation."""
    text = ""
    with contextlib.suppress(OSError, ValueError):
        text = Path("/proc/self/status").read_text()
    return [_kibibytes(text, name) << 10 for name in names]


def _kibibytes(text: str, name: str) -> int:
    with contextlib.suppress(ValueError, IndexError):
        return int(text.split(f"{name}:", 1)[1].split(None, 1)[0])
    return 0
