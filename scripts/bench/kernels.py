"""The reference kernels of `kernels/` beside PyTorch, in one run on one GPU: microseconds of a call, and the ratio.

Each result is compared with PyTorch's first; a kernel that is wrong is not timed. Without a GPU there is nothing to
time, and it says so. `--check` only compares, at small sizes and on any machine (a CPU takes our own interpreter).
"""

import argparse
import importlib
import importlib.util
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
LARGEST_ERROR = 0.02  # of the largest value: bf16 results of two roundings


@dataclass(frozen=True)
class Sizes:
    """Softmax: rows, columns. Attention: sequences, heads, key heads, tokens, depth; cached keys, chunk, splits."""

    rows: int = 8192
    cols: int = 8192
    batch: int = 2
    heads: int = 32
    kv_heads: int = 8
    tokens: int = 4096
    depth: int = 128
    cached: int = 16_384
    chunk: int = 256
    splits: int = 16


SMALL = Sizes(rows=4, cols=100, batch=1, heads=4, kv_heads=2, tokens=48, depth=16, cached=70, chunk=5, splits=3)


@dataclass(frozen=True)
class Contest:
    """What one kernel file computes, by several functions and by PyTorch. All take no arguments."""

    what: str
    kernels: dict[str, Callable[[], Any]]
    peer_name: str
    peer: Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One line of the table: seconds of a call here and of PyTorch's, and how far apart the results are."""

    what: str
    kernel: str
    peer: str
    error: float
    seconds: float | None
    peer_seconds: float | None


def contests(torch: Any, device: str, sizes: Sizes) -> Iterator[Contest]:
    """One contest after the other, so that only one's tensors are in memory."""
    torch.manual_seed(0)
    yield softmax(torch, device, sizes)
    for causal in (False, True):
        yield forward(torch, device, sizes, causal)
    yield backward(torch, device, sizes)
    yield decode(torch, device, sizes)
    yield chunk(torch, device, sizes)


def softmax(torch: Any, device: str, sizes: Sizes) -> Contest:
    module = _kernel("row_softmax")
    x = torch.randn(sizes.rows, sizes.cols, device=device)
    names = ("naive", "safe", "online", "tiled")
    kernels = {name: (lambda name=name: getattr(module, name)(x)) for name in names}
    return Contest(f"row softmax, {sizes.rows} × {sizes.cols} fp32", kernels, "softmax", lambda: x.softmax(dim=1))


def forward(torch: Any, device: str, sizes: Sizes, causal: bool) -> Contest:
    module = _kernel("attention_forward")
    q, k, v = _sequences(torch, device, sizes)
    names = ("naive", "first_version", "second_version")
    kernels = {name: (lambda name=name: getattr(module, name)(q, k, v, causal)[0]) for name in names}
    what = f"attention forward{', causal' if causal else ''}, {_words(sizes)}"
    return Contest(what, kernels, "sdpa", lambda: _sdpa(torch, q, k, v, causal))


def backward(torch: Any, device: str, sizes: Sizes) -> Contest:
    """The gradients only: the forward pass of both sides is done before."""
    q, k, v = (x.requires_grad_() for x in _sequences(torch, device, sizes))
    out = _sdpa(torch, q, k, v, True)
    do = torch.randn_like(out)
    with torch.no_grad():
        o, lse = _kernel("attention_forward").second_version(q, k, v, True)
    module = _kernel("attention_backward")
    arguments = [x.detach() for x in (q, k, v, o, lse, do)]
    return Contest(
        f"attention backward, causal, {_words(sizes)}",
        {"backward": lambda: module.backward(*arguments, True)},
        "autograd of sdpa",
        lambda: torch.autograd.grad(out, (q, k, v), do, retain_graph=True),
    )


def decode(torch: Any, device: str, sizes: Sizes) -> Contest:
    q = torch.randn(sizes.heads, sizes.depth, device=device, dtype=torch.float16)
    k, v = _cache(torch, device, sizes)
    grouped, split = _kernel("gqa_decode"), _kernel("split_kv_decode")
    return Contest(
        f"decode, {sizes.heads} heads over {sizes.kv_heads}, {sizes.cached} keys × {sizes.depth}, fp16",
        {
            "gqa per_head": lambda: grouped.per_head(q, k, v),
            "gqa packed": lambda: grouped.packed(q, k, v),
            f"split in {sizes.splits}": lambda: split.decode(q, k, v, sizes.splits),
        },
        "sdpa",
        lambda: _sdpa(torch, q[None, :, None], k[None], v[None], False)[0, :, 0],
    )


def chunk(torch: Any, device: str, sizes: Sizes) -> Contest:
    module = _kernel("chunked_attention")
    new, cached = sizes.chunk, sizes.cached - sizes.chunk
    k_cache, v_cache = _cache(torch, device, sizes)
    q = torch.randn(sizes.heads, new, sizes.depth, device=device, dtype=torch.float16)
    k, v = (torch.randn(sizes.kv_heads, new, sizes.depth, device=device, dtype=torch.float16) for _ in range(2))
    seen = torch.arange(sizes.cached, device=device) <= cached + torch.arange(new, device=device)[:, None]

    def by_torch() -> Any:
        k_cache[:, cached:], v_cache[:, cached:] = k, v
        return _sdpa(torch, q[None], k_cache[None], v_cache[None], False, mask=seen)[0]

    return Contest(
        f"chunk of {new} over {cached}, {sizes.heads} heads over {sizes.kv_heads} × {sizes.depth}, fp16",
        {"attend": lambda: module.attend(q, k, v, k_cache, v_cache, cached)},
        "copy and sdpa",
        by_torch,
    )


def _kernel(name: str) -> Any:
    return importlib.import_module(f"kernels.{name}")


def _words(sizes: Sizes) -> str:
    return f"{sizes.batch} × {sizes.heads} heads × {sizes.tokens} × {sizes.depth}, fp16"


def _sequences(torch: Any, device: str, sizes: Sizes) -> list[Any]:
    shape = (sizes.batch, sizes.heads, sizes.tokens, sizes.depth)
    return [torch.randn(shape, device=device, dtype=torch.float16) for _ in range(3)]


def _cache(torch: Any, device: str, sizes: Sizes) -> list[Any]:
    shape = (sizes.kv_heads, sizes.cached, sizes.depth)
    return [torch.randn(shape, device=device, dtype=torch.float16) for _ in range(2)]


def _sdpa(torch: Any, q: Any, k: Any, v: Any, causal: bool, mask: Any = None) -> Any:
    attention = torch.nn.functional.scaled_dot_product_attention
    return attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


def apart(got: Any, wanted: Any) -> float:
    """The largest difference over the largest value, of the worst of several results; NaN if any is."""
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else ((got, wanted),)
    errors = [((a.double() - b.double()).abs().max() / b.double().abs().max()).item() for a, b in pairs]
    return math.nan if any(math.isnan(error) for error in errors) else max(errors)


def measure(device: str, sizes: Sizes, clock: Callable[[Callable[[], Any]], float] | None) -> Iterator[Row]:
    """A row per kernel. `clock` gives the seconds of a call; without one only the results are compared."""
    torch = importlib.import_module("torch")
    for contest in contests(torch, device, sizes):
        wanted = contest.peer()
        theirs = clock(contest.peer) if clock else None
        for name, kernel in contest.kernels.items():
            error = apart(kernel(), wanted)
            right = error <= LARGEST_ERROR
            ours = clock(kernel) if clock and right else None
            yield Row(contest.what, name, contest.peer_name, error, ours, theirs)


def gpu_clock(call: Callable[[], Any]) -> float:
    """Seconds of a call: the median of five runs of `triton.testing.do_bench`, which empties L2 before a call."""
    bench = importlib.import_module("triton.testing").do_bench
    return 1e-3 * statistics.median(bench(call, return_mode="median") for _ in range(5))


def main(arguments: list[str]) -> int:
    """Print the table. 1 when a kernel is wrong."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="small sizes, no times, also without a GPU")
    chosen = parser.parse_args(arguments)
    torch_has_gpu = importlib.util.find_spec("torch") is not None and _gpu_here()
    if not torch_has_gpu and not chosen.check:
        print("No GPU here, so nothing to time. `python scripts/bench/kernels.py --check` compares the results.")
        return 0
    if not torch_has_gpu:
        importlib.import_module("grader.interpreter").install()
    device = "cuda" if torch_has_gpu else "cpu"
    wrong, what = 0, ""
    for row in measure(device, SMALL if chosen.check else Sizes(), None if chosen.check else gpu_clock):
        if row.what != what:
            what = row.what
            print(f"{what}  ({_machine(device)})", flush=True)
        right = row.error <= LARGEST_ERROR
        wrong += not right
        print(f"  {row.kernel:<16}{_told(row)}   error {row.error:.1e}{'' if right else '  WRONG'}", flush=True)
    return 1 if wrong else 0


def _gpu_here() -> bool:
    return bool(importlib.import_module("torch").cuda.is_available())


def _machine(device: str) -> str:
    return str(importlib.import_module("torch").cuda.get_device_name()) if device == "cuda" else "CPU interpreter"


def _told(row: Row) -> str:
    if row.seconds is None or row.peer_seconds is None:
        return f"{'':>12}"
    ratio = row.seconds / row.peer_seconds
    return f"{1e6 * row.seconds:10.1f} µs  {row.peer} {1e6 * row.peer_seconds:.1f} µs  × {ratio:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
