"""Softmax over the rows of a matrix, four ways.

What: ``y_j = exp(x_j − m) / Σ_k exp(x_k − m)`` for each row, with m the largest entry of the row.
Work: about 5 FLOPs an element (compare, subtract, exponential, add, divide), so the time is the bytes. With M·N
elements of b bytes:

    version   loads   stores   bytes moved
    naive     2 MN    MN       3 MN·b        no maximum: overflows once an entry passes 88.7 in fp32
    safe      3 MN    MN       4 MN·b        one pass for the maximum, one for the sum, one to write
    online    2 MN    MN       3 MN·b        maximum and sum in one pass: safe at the price of naive
    tiled     MN      MN       2 MN·b        the row stays on the chip between sum and store: the least there is

Why each step pays: `safe` buys correctness with a third read of the row. `online` takes that read back: the sum
is kept relative to the maximum so far and multiplied by ``exp(m_old − m_new)`` when the maximum rises. `tiled`
needs no second look at memory, as long as a row fits into the registers of a program; several short rows share
one. Where rows are short enough to stay in the L2 cache, the second read is cheap and the versions lie closer
together than the table.

Rows without a finite entry give NaN. Rows may have any stride; columns lie side by side. Computed in fp32.

Source: M. Milakov, N. Gimelshein, Online normalizer calculation for softmax, 2018, arXiv:1805.02867.
"""

from typing import Any

import torch
import triton
import triton.language as tl

TILE = 1024  # columns a program looks at together
ON_CHIP = 4096  # elements of one program's tile of rows in `tiled`


@triton.jit
def naive_kernel(x, y, cols, x_row, y_row, TILE: tl.constexpr):
    """One row a program. Read for the sum, read again to write."""
    x += tl.program_id(0).to(tl.int64) * x_row
    y += tl.program_id(0).to(tl.int64) * y_row
    total = 0.0
    for start in range(0, cols, TILE):
        at = start + tl.arange(0, TILE)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(v), axis=0)  # exp(−∞) = 0: lanes past the end add nothing
    for start in range(0, cols, TILE):
        at = start + tl.arange(0, TILE)
        v = tl.load(x + at, mask=at < cols, other=0.0).to(tl.float32)
        tl.store(y + at, tl.exp(v) / total, mask=at < cols)


@triton.jit
def safe_kernel(x, y, cols, x_row, y_row, TILE: tl.constexpr):
    """One row a program. Read for the maximum, for the sum, and to write."""
    x += tl.program_id(0).to(tl.int64) * x_row
    y += tl.program_id(0).to(tl.int64) * y_row
    m = -float("inf")
    for start in range(0, cols, TILE):
        at = start + tl.arange(0, TILE)
        m = tl.maximum(m, tl.max(tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32), axis=0))
    total = 0.0
    for start in range(0, cols, TILE):
        at = start + tl.arange(0, TILE)
        total += tl.sum(tl.exp(tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32) - m), axis=0)
    for start in range(0, cols, TILE):
        at = start + tl.arange(0, TILE)
        v = tl.load(x + at, mask=at < cols, other=0.0).to(tl.float32)
        tl.store(y + at, tl.exp(v - m) / total, mask=at < cols)


@triton.jit
def online_kernel(x, y, cols, x_row, y_row, TILE: tl.constexpr):
    """One row a program. Maximum and sum in one pass, the sum always relative to the maximum so far."""
    x += tl.program_id(0).to(tl.int64) * x_row
    y += tl.program_id(0).to(tl.int64) * y_row
    m = -float("inf")
    total = 0.0
    for start in range(0, cols, TILE):
        at = start + tl.arange(0, TILE)
        v = tl.load(x + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(v, axis=0))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)  # a tile of nothing but −∞: −∞ − −∞ would be NaN
        total = total * tl.exp(m - base) + tl.sum(tl.exp(v - base), axis=0)
        m = m_new
    for start in range(0, cols, TILE):
        at = start + tl.arange(0, TILE)
        v = tl.load(x + at, mask=at < cols, other=0.0).to(tl.float32)
        tl.store(y + at, tl.exp(v - m) / total, mask=at < cols)


@triton.jit
def tiled_kernel(x, y, rows, cols, x_row, y_row, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """A tile of whole rows a program: one load, one store."""
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    c = tl.arange(0, WIDTH)
    inside = (r < rows)[:, None] & (c < cols)[None, :]
    v = tl.load(x + r[:, None] * x_row + c[None, :], mask=inside, other=-float("inf")).to(tl.float32)
    m = tl.max(v, axis=1)
    weights = tl.exp(v - tl.where(r < rows, m, 0.0)[:, None])  # a row past the end is all −∞
    total = tl.sum(weights, axis=1)
    tl.store(y + r[:, None] * y_row + c[None, :], weights / tl.where(r < rows, total, 1.0)[:, None], mask=inside)


def naive(x: torch.Tensor) -> torch.Tensor:
    """Softmax of x ``[rows, cols]`` without a maximum: NaN or 0 for large entries. Reads 2 MN, writes MN."""
    return _by_row(naive_kernel, x)


def safe(x: torch.Tensor) -> torch.Tensor:
    """Softmax of x ``[rows, cols]`` in three passes. Reads 3 MN, writes MN."""
    return _by_row(safe_kernel, x)


def online(x: torch.Tensor) -> torch.Tensor:
    """Softmax of x ``[rows, cols]`` in two passes. Reads 2 MN, writes MN."""
    return _by_row(online_kernel, x)


def tiled(x: torch.Tensor) -> torch.Tensor:
    """Softmax of x ``[rows, cols]``, each row held on the chip. Reads MN, writes MN.

    Meant for rows up to some 16,384 columns: beyond, registers spill and `online` is the better choice.
    """
    rows, cols = x.shape
    width = triton.next_power_of_2(cols)
    together = max(1, ON_CHIP // width)
    y = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    tiled_kernel[(triton.cdiv(rows, together),)](
        x, y, rows, cols, x.stride(0), y.stride(0), ROWS=together, WIDTH=width, num_warps=4 if width <= 4096 else 8
    )
    return y


def _by_row(kernel: Any, x: torch.Tensor) -> torch.Tensor:
    rows, cols = x.shape
    y = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    kernel[(rows,)](x, y, cols, x.stride(0), y.stride(0), TILE=TILE)
    return y
