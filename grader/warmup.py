"""A kernel run once before anybody waits: the first launch in a process pays for much that later ones find done."""

from __future__ import annotations

import importlib
from typing import Any, Final

triton: Any = importlib.import_module("triton")
tl: Any = importlib.import_module("triton.language")

LENGTH: Final = 32


@triton.jit  # type: ignore[untyped-decorator]
def _row_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n, other=-float("inf"))
    p = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + lanes, p / tl.sum(p, axis=0), mask=lanes < n)


def launch(device: str = "cpu") -> bool:
    """Run it. True if it computed what it should: a lane that does not is not ready."""
    torch: Any = importlib.import_module("torch")
    x = torch.arange(LENGTH - 5, dtype=torch.float32, device=device)
    y = torch.empty_like(x)
    _row_kernel[(1,)](x, y, x.numel(), BLOCK=LENGTH)
    return bool(torch.allclose(y, torch.softmax(x, 0)))
