"""What files written for triton use of it outside kernels: tensor descriptors, the active device, benchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grader.interpreter.errors import Unsupported

REPEATS = 3  # of a benchmark
CAPABILITY = 90  # the GPU whose rules this lane applies


@dataclass
class TensorDescriptor:
    """A tensor together with the block in which kernels copy it (triton.tools.tensor_descriptor)."""

    base: Any
    shape: list[int]
    strides: list[int]
    block_shape: list[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        if not len(self.shape) == len(self.strides) == len(self.block_shape) or not 1 <= len(self.shape) <= 5:
            raise ValueError("a descriptor's shape, strides and block_shape need equal length, 1 to 5")
        if self.strides[-1] != 1:
            raise ValueError("a descriptor's last stride must be 1")
        if any(stride * self.base.dtype.itemsize % 16 for stride in self.strides[:-1]):
            raise ValueError("a descriptor's strides must be multiples of 16 bytes")
        if self.base.data_ptr() % 16:
            raise ValueError("a descriptor's base must be aligned to 16 bytes")

    @staticmethod
    def from_tensor(
        tensor: Any, block_shape: list[int], padding: str = "zero", round_f32_to_tf32: bool = False
    ) -> TensorDescriptor:
        return TensorDescriptor(
            tensor, list(tensor.shape), list(tensor.stride()), block_shape, padding, round_f32_to_tf32
        )


@dataclass(frozen=True)
class Target:
    """For which GPU kernels are checked."""

    backend: str = "cuda"
    arch: int = CAPABILITY
    warp_size: int = 32


class Active:
    """triton.runtime.driver.active: tensors lie on the CPU, kernels are checked as for `Target`."""

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_current_target(self) -> Target:
        return Target()

    def get_current_device(self) -> int:
        return 0


def do_bench(fn: Callable[[], Any], **_: Any) -> float:
    """Median milliseconds of `fn` on this CPU: it says nothing about a GPU."""
    taken = []
    for _number in range(REPEATS):
        began = time.perf_counter()
        fn()
        taken.append((time.perf_counter() - began) * 1e3)
    return statistics.median(taken)


class Benchmark:
    """A description of a plot, kept as it is."""

    def __init__(self, **description: Any) -> None:
        self.__dict__.update(description)


class Mark:
    """A benchmark that a file defines and this lane does not run."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def run(self, **_: Any) -> None:
        raise Unsupported("benchmarks do not run on the CPU lane")


def perf_report(benchmarks: Any) -> Callable[[Callable[..., Any]], Mark]:
    return Mark
