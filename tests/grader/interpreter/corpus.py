# mypy: ignore-errors
"""Kernels that the interpreter is measured and compared on: one of each kind that the drills and tutorials have."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def row_softmax(x, out, stride, cols, BLOCK: tl.constexpr):
    """Maximum, sum and weights in one pass each: three loads an element."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        v = tl.load(x + row * stride + start + lanes, mask=start + lanes < cols, other=-float("inf"))
        top = tl.maximum(top, v)
    peak = tl.max(top, axis=0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        v = tl.load(x + row * stride + start + lanes, mask=start + lanes < cols, other=-float("inf"))
        total += tl.exp(v - peak)
    norm = tl.sum(total, axis=0)
    for start in range(0, cols, BLOCK):
        v = tl.load(x + row * stride + start + lanes, mask=start + lanes < cols, other=-float("inf"))
        tl.store(out + row * stride + start + lanes, tl.exp(v - peak) / norm, mask=start + lanes < cols)


@triton.jit
def layer_norm(x, out, weight, bias, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(x + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / cols
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=0.0).to(tl.float32)
        centred = tl.where(at < cols, v - mean, 0.0)
        squares += centred * centred
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < cols
        v = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + at, mask=inside)
        b = tl.load(bias + at, mask=inside)
        tl.store(out + at, (v - mean) * scale * w + b, mask=inside)


@triton.jit
def matmul(
    a, b, c, m, n, k, a_row, a_col, b_row, b_col, c_row, c_col,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Tiles in groups of rows, so that consecutive programs share operands."""
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(m, M), tl.cdiv(n, N)
    group = pid // (GROUP * cols)
    height = min(rows - group * GROUP, GROUP)
    row = group * GROUP + (pid % (GROUP * cols)) % height
    col = (pid % (GROUP * cols)) // height
    at_m = (row * M + tl.arange(0, M)) % m
    at_n = (col * N + tl.arange(0, N)) % n
    at_k = tl.arange(0, K)
    left = a + at_m[:, None] * a_row + at_k[None, :] * a_col
    right = b + at_k[:, None] * b_row + at_n[None, :] * b_col
    acc = tl.zeros((M, N), dtype=tl.float32)
    for step in range(tl.cdiv(k, K)):
        x = tl.load(left, mask=at_k[None, :] < k - step * K, other=0.0)
        y = tl.load(right, mask=at_k[:, None] < k - step * K, other=0.0)
        acc = tl.dot(x, y, acc)
        left += K * a_col
        right += K * b_row
    at_m = row * M + tl.arange(0, M)
    at_n = col * N + tl.arange(0, N)
    where = c + at_m[:, None] * c_row + at_n[None, :] * c_col
    tl.store(where, acc.to(c.dtype.element_ty), mask=(at_m[:, None] < m) & (at_n[None, :] < n))


@triton.jit
def attention(
    q, k, v, out, scale, head_stride, row_stride, length,
    D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    tile, head = tl.program_id(0), tl.program_id(1)
    at_m = tile * M + tl.arange(0, M)
    at_d = tl.arange(0, D)
    base = head * head_stride
    query = tl.load(q + base + at_m[:, None] * row_stride + at_d[None, :], mask=at_m[:, None] < length, other=0.0)
    peak = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    end = length
    if CAUSAL:
        end = tl.minimum((tile + 1) * M, length)
    for start in range(0, end, N):
        at_n = start + tl.arange(0, N)
        inside = at_n < length
        key = tl.load(k + base + at_d[:, None] + at_n[None, :] * row_stride, mask=inside[None, :], other=0.0)
        score = tl.dot(query, key) * scale
        seen = inside[None, :]
        if CAUSAL:
            seen = seen & (at_m[:, None] >= at_n[None, :])
        score = tl.where(seen, score, -float("inf"))
        new = tl.maximum(peak, tl.max(score, axis=1))
        weight = tl.exp(score - new[:, None])
        fade = tl.exp(peak - new)
        total = total * fade + tl.sum(weight, axis=1)
        value = tl.load(v + base + at_n[:, None] * row_stride + at_d[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(weight.to(value.dtype), value, acc * fade[:, None])
        peak = new
    where = out + base + at_m[:, None] * row_stride + at_d[None, :]
    tl.store(where, (acc / total[:, None]).to(out.dtype.element_ty), mask=at_m[:, None] < length)


@triton.jit
def decode_split(
    q, k, v, peaks, totals, partial, scale, length, head_stride, row_stride, chunk,
    G: tl.constexpr, D: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """One query row a head, the keys in splits; G heads share the keys of one program."""
    head, split = tl.program_id(0), tl.program_id(1)
    at_g, at_d = tl.arange(0, G), tl.arange(0, D)
    query = tl.load(q + (head * G + at_g)[:, None] * D + at_d[None, :])
    peak = tl.full((G,), -float("inf"), tl.float32)
    total = tl.zeros((G,), tl.float32)
    acc = tl.zeros((G, D), tl.float32)
    end = tl.minimum((split + 1) * chunk, length)
    for start in range(split * chunk, end, N):
        at_n = start + tl.arange(0, N)
        inside = at_n < end
        where = head * head_stride + at_n[:, None] * row_stride + at_d[None, :]
        key = tl.load(k + where, mask=inside[:, None], other=0.0)
        score = tl.where(inside[None, :], tl.dot(query, tl.trans(key)) * scale, -float("inf"))
        new = tl.maximum(peak, tl.max(score, 1))
        weight = tl.exp(score - new[:, None])
        fade = tl.exp(peak - new)
        total = total * fade + tl.sum(weight, 1)
        acc = acc * fade[:, None] + tl.dot(weight, tl.load(v + where, mask=inside[:, None], other=0.0))
        peak = new
    slot = (head * tl.num_programs(1) + split) * G + at_g
    tl.store(peaks + slot, peak)
    tl.store(totals + slot, total)
    tl.store(partial + slot[:, None] * D + at_d[None, :], acc)


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def ticket_sum(x, partial, arrived, out, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    """Whoever comes last adds up what all have left."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + pid, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))
    if tl.atomic_add(arrived, 1) == tl.num_programs(0) - 1:
        slots = tl.arange(0, PROGRAMS)
        left = tl.load(partial + slots, mask=slots < tl.num_programs(0), other=0.0)
        tl.store(out, tl.sum(left, axis=0))


@triton.jit
def locked_sum(x, lock, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mine = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + mine)
    tl.atomic_xchg(lock, 0)


@triton.jit
def collatz(x, out):
    pid = tl.program_id(0)
    v = tl.load(x + pid)
    steps = 0
    while v != 1:
        if v % 2 == 1:  # noqa: SIM108  (branches are the point)
            v = 3 * v + 1
        else:
            v = v // 2
        steps += 1
    tl.store(out + pid, steps)


@triton.jit
def block_pointer_matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, col = tl.program_id(0), tl.program_id(1)
    left = tl.make_block_ptr(a, (m, k), (k, 1), (row * M, 0), (M, K), (1, 0))
    right = tl.make_block_ptr(b, (k, n), (n, 1), (0, col * N), (K, N), (1, 0))
    acc = tl.zeros((M, N), tl.float32)
    for _ in range(0, k, K):
        x = tl.load(left, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(right, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(x, y)
        left = tl.advance(left, (0, K))
        right = tl.advance(right, (K, 0))
    target = tl.make_block_ptr(c, (m, n), (n, 1), (row * M, col * N), (M, N), (1, 0))
    tl.store(target, acc, boundary_check=(0, 1))


@triton.jit
def descriptor_matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, col = tl.program_id(0), tl.program_id(1)
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [M, K])
    right = tl.make_tensor_descriptor(b, [k, n], [n, 1], [K, N])
    target = tl.make_tensor_descriptor(c, [m, n], [n, 1], [M, N])
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        acc += tl.dot(left.load([row * M, start]), right.load([start, col * N]))
    target.store([row * M, col * N], acc)


@triton.jit
def then(decay, value, next_decay, next_value):
    return decay * next_decay, value * next_decay + next_value


@triton.jit
def linear_recurrence(decay, value, out, running, T: tl.constexpr, D: tl.constexpr):
    at = tl.program_id(0) * T * D + tl.arange(0, T)[:, None] * D + tl.arange(0, D)[None, :]
    _, state = tl.associative_scan((tl.load(decay + at), tl.load(value + at)), 0, then)
    tl.store(out + at, state)
    tl.store(running + at, tl.cumsum(tl.load(value + at), axis=0))


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def row_extremes(x, top, place, N: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(x + row * N + tl.arange(0, N))
    tl.store(top + row, tl.reduce(v, 0, larger))
    tl.store(place + row, tl.argmax(v, 0))


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, v / (1 - p), 0.0), mask=at < n)


@triton.jit
def nothing(out):
    tl.store(out, tl.load(out) + 1.0)
