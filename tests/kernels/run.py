"""Runs every case of `cases` on one device: ``python -m tests.kernels.run cpu|cuda RESULTS.npz``.

On the CPU `import triton` is the batched interpreter; on a GPU it is Triton itself. Memory that nobody has written
holds NaN, and so does what lies between the elements of a view. The kernels launched on the CPU, with their types
and constants, are written to ``kernels.json`` beside the results.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.kernels.cases import Given, all_cases


def main(device: str, out: str) -> None:
    interpreter: Any = importlib.import_module("grader.interpreter")
    record = interpreter.Recorder()
    if device == "cpu":
        interpreter.install()
        interpreter.configure(recorder=record)
    torch: Any = importlib.import_module("torch")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    torch.set_num_threads(1)
    results: dict[str, Any] = {}
    kernels: dict[str, list[dict[str, Any]]] = {}
    for number, case in enumerate(all_cases()):
        function = getattr(importlib.import_module(f"kernels.{case.module}"), case.function)
        args = [_argument(torch, argument, device) for argument in case.args]
        returned = function(*args)
        returned = returned if isinstance(returned, tuple) else (returned,)
        for place, value in enumerate((*returned, *(args[i] for i in case.written))):
            results[f"{number}.{place}"] = value.detach().double().cpu().numpy()
            results[f"{number}.{place}.type"] = np.array(str(value.dtype))
        kernels.setdefault(case.module, []).extend(_kernel(launch) for launch in record.launches)
        record.launches.clear()
    np.savez(out, **results)
    Path(out).with_name("kernels.json").write_text(json.dumps(kernels))


def _kernel(launch: Any) -> dict[str, Any]:
    """A launch in the compiler's terms, as `grader.wire.Kernel` has them."""
    return {
        "name": launch.kernel,
        "signature": launch.signature,
        "constants": {name: value for name, value in launch.arguments.items() if name not in launch.signature},
        "num_warps": launch.settings.get("num_warps", 4),
    }


def _argument(torch: Any, argument: Given | int | bool | str, device: str) -> Any:
    if isinstance(argument, Given):
        return lay(torch, argument, device)
    return getattr(torch, NAMES[argument]) if isinstance(argument, str) else argument


NAMES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


def lay(torch: Any, given: Given, device: str) -> Any:
    """A tensor with these values: dense; `wide`, rows of something wider; `beside`, heads side by side; `swapped`,
    the last two axes swapped in memory.
    """
    dtype = getattr(torch, NAMES[given.dtype])
    values = torch.from_numpy(given.values.astype(np.float64)).to(dtype).to(device)
    shape = list(values.shape)
    if given.layout == "beside" and len(shape) > 2:
        order = [*range(len(shape) - 3), len(shape) - 2, len(shape) - 3, len(shape) - 1]
        view = torch.empty([shape[axis] for axis in order], dtype=dtype, device=device).permute(order)
    elif given.layout == "swapped":
        view = torch.empty([*shape[:-2], shape[-1], shape[-2]], dtype=dtype, device=device).transpose(-1, -2)
    elif given.layout in ("wide", "beside"):
        view = torch.full([*shape[:-1], shape[-1] + 3], float("nan"), dtype=dtype, device=device)[..., : shape[-1]]
    else:
        view = torch.empty(shape, dtype=dtype, device=device)
    view.copy_(values)
    return view


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
