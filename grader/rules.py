"""Rules checked by evidence: what the run shows that the kernels loaded, stored and wrote. Pure.

The evidence comes from the runner's side but is counted by the interpreter beneath the learner's code. What is
missing counts as a broken rule, never as a kept one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from grader import messages
from grader.compare import Feature
from grader.drill import Drill
from grader.kit import DTYPES, Argument, Ask, Output, Placed
from grader.verdict import Traffic
from grader.wire import Launch, Moved, Returned


def broken_rule(drill: Drill, ask: Ask, returned: Returned, *, counted: bool, seen: bool = True) -> Feature | None:
    """The first rule of `drill` that this call breaks, with its sentence; ``None`` when all are kept.

    `counted` says whether the lane counts loads and stores, `seen` whether it sees who wrote a result; without both
    only launches can be seen.
    """
    rules = drill.rules
    if drill.framework != "triton":
        return None  # these rules are about kernels, and this file has none
    if rules.written_by_kernel and returned.launch_count < 1:
        return Feature("no_kernel", messages.no_kernel_ran(ask.entry))
    moved = {tensor.tensor: tensor for tensor in returned.traffic}
    if rules.written_by_kernel and (seen or counted) and (found := _provenance(drill, ask, moved)):
        return found
    if not counted:
        return None
    return _loads(drill, ask, moved) or _stores(drill, ask, moved) or _scratch(ask, moved)


def written_by_kernels(traffic: Sequence[Moved], results: int) -> bool:
    """Did kernels write every result last, from nothing that something else had computed?"""
    moved = {tensor.tensor: tensor for tensor in traffic}
    written = all(key in moved and moved[key].covered >= 1.0 for key in (f"ret{n}" for n in range(results)))
    return written and not any(tensor.foreign_bytes for tensor in traffic)


def _provenance(drill: Drill, ask: Ask, moved: dict[str, Moved]) -> Feature | None:
    """Every byte returned was stored last by a kernel, and the kernels read nothing that something else
    computed.
    """
    for key, _ in _returned_keys(ask):
        share = moved[key].covered if key in moved else 0.0
        if not share >= 1.0:
            return Feature("not_written", messages.not_written_by_kernel(share if share == share else 0.0))
    for tensor in moved.values():
        if tensor.foreign_bytes:
            return Feature("computed_elsewhere", messages.computed_elsewhere(in_words(drill, ask, tensor.tensor)))
    return None


def _loads(drill: Drill, ask: Ask, moved: dict[str, Moved]) -> Feature | None:
    allowed = drill.rules.loads_per_element
    if allowed is None:
        return None
    named = drill.rules.loads_of
    for key in (f"arg{i}" for i, argument in enumerate(ask.args) if isinstance(argument, Placed)):
        if named and in_words(drill, ask, key) not in named:
            continue
        got = moved[key].loaded_elements_max if key in moved else 0
        # A slot that several index tuples share (stride 0) may be loaded once for each of them.
        limit = allowed * _shares(ask.args[int(key[3:])])
        if not got <= limit:
            return Feature("loads", messages.too_many_loads(in_words(drill, ask, key), got, limit))
    return None


def _stores(drill: Drill, ask: Ask, moved: dict[str, Moved]) -> Feature | None:
    allowed = drill.rules.stores_per_element
    if allowed is None:
        return None
    for key, output in _returned_keys(ask):
        got = moved[key].stored_elements_max if key in moved else 0
        if not got <= allowed:
            return Feature("stores", messages.too_many_stores(output, got, allowed))
    return None


def _scratch(ask: Ask, moved: dict[str, Moved]) -> Feature | None:
    """Memory of tensors that kernels used and that were neither sent nor promised. A result that is a view of
    something larger counts with what is over.
    """
    if ask.scratch_bytes is None:
        return None
    outputs = [output for output in ask.outputs if isinstance(output, Output)]
    promised = {
        key: math.prod(output.shape) * DTYPES[output.dtype].storage.itemsize
        for (key, _), output in zip(_returned_keys(ask), outputs, strict=True)
    }
    own = [tensor for tensor in moved.values() if not tensor.tensor.startswith("arg")]
    got = sum(max(0, tensor.nbytes - promised.get(tensor.tensor, 0)) for tensor in own)
    if not got <= ask.scratch_bytes:
        return Feature("scratch", messages.too_much_scratch(got, ask.scratch_bytes))
    return None


def traffic(drill: Drill, ask: Ask, returned: Returned) -> tuple[Traffic, ...]:
    """What one call moved, with the least that its contract needs: each input slot read once, each result
    written once.
    """
    least_loaded = {
        f"arg{i}": _slots(argument) * argument.storage.itemsize
        for i, argument in enumerate(ask.args)
        if isinstance(argument, Placed)
    }
    outputs = [output for output in ask.outputs if isinstance(output, Output)]
    sizes = {output.name: int(np.prod(output.shape)) for output in outputs}
    widths = {argument.dtype: argument.storage.itemsize for argument in ask.args if isinstance(argument, Placed)}
    least_stored = {
        key: sizes[name] * widths.get(output.dtype, 0)
        for (key, name), output in zip(_returned_keys(ask), outputs, strict=True)
    }
    return tuple(
        Traffic(
            tensor=in_words(drill, ask, tensor.tensor),
            loaded=tensor.loaded_bytes,
            stored=tensor.stored_bytes,
            least_loaded=least_loaded.get(tensor.tensor, 0),
            least_stored=least_stored.get(tensor.tensor, 0),
        )
        for tensor in returned.traffic
    )


def _returned_keys(ask: Ask) -> list[tuple[str, str]]:
    """The runner's key of each output, with the output's name: ``ret0`` for results, ``arg1`` when written in
    place.
    """
    keys = []
    results = 0
    for output in ask.outputs:
        if not isinstance(output, Output):
            continue
        if output.argument is None:
            keys.append((f"ret{results}", output.name))
            results += 1
        else:
            keys.append((f"arg{output.argument}", output.name))
    return keys


def in_words(drill: Drill, ask: Ask, key: str) -> str:
    """A tensor's name as the drill's signature has it: ``arg0`` → ``x``, ``ret0`` → the output's name."""
    for returned_key, name in _returned_keys(ask):
        if key == returned_key:
            return name
    if key.startswith("arg") and key[3:].isdigit():
        names = parameter_names(next((e.signature for e in drill.entries if e.name == ask.entry), ""))
        position = int(key[3:])
        return names[position] if position < len(names) else f"argument {position + 1}"
    return "a buffer of your own" if key.startswith("tmp") else "a tensor"


def parameter_names(signature: str) -> list[str]:
    """The parameter names in a signature as drills write it: ``f(q[H,D], k: Tensor[S, D]) -> o`` → ``["q",
    "k"]``.
    """
    inside = re.search(r"\((.*)\)\s*(?:->|$)", signature)
    text = re.sub(r"\[[^\]]*\]", "", inside.group(1)) if inside else ""
    return [part.split(":")[0].strip() for part in text.split(",") if part.strip()]


def blocks_of(launches: Sequence[Launch]) -> tuple[int, ...]:
    """The tile lengths among the compile-time constants of these launches, smallest first.

    Constants whose name speaks of a block or tile are preferred; otherwise any power of two from 2 up counts.
    """
    constants = [(n, v) for launch in launches for n, v in launch.constants.items() if _is_length(v)]
    named = [(n, v) for n, v in constants if re.search(r"block|tile|size|width|chunk", n, re.IGNORECASE)]
    return tuple(sorted({int(value) for _, value in named or constants}))


def block_for(blocks: Sequence[int], length: int) -> int | None:
    """The block that cuts an axis of `length`: the largest that needs several tiles, else the least that
    covers it.
    """
    within = [block for block in blocks if block < length]
    return max(within) if within else min(blocks, default=None)


def _is_length(value: object) -> bool:
    return (
        isinstance(value, int) and not isinstance(value, bool) and 2 <= value <= 1 << 20 and not value & (value - 1)
    )


def _slots(argument: Placed) -> int:
    """Distinct elements of storage that the view shows."""
    return int(np.prod([n for n, s in zip(argument.shape, argument.strides, strict=True) if s or n == 0]))


def _shares(argument: Argument) -> int:
    """How many index tuples show one slot of storage."""
    if not isinstance(argument, Placed):
        return 1
    return max(1, int(np.prod([n for n, s in zip(argument.shape, argument.strides, strict=True) if s == 0])))
