"""What the judge knows: each kernel carries the name of its fault. The learner's process never sees that object."""

from typing import Any


def diagnose(kernel: Any) -> str:
    return str(kernel.fault)
