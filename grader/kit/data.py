"""What the numbers in a case look like: one named builder for each way that a kernel is known to go wrong.

A builder fills an array along its last axis, the one that kernels cut into tiles. `block` is the tile length
the suite was designed around; a kernel may choose another, so the shapes below hold for any block up to half
the axis.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grader.kit.dtypes import Values

Shape = tuple[int, ...]


def generator(seed: bytes, *names: str) -> np.random.Generator:
    """A stream of its own for each (seed, names): knowing one stream says nothing about another."""
    digest = hashlib.sha256(b"\x00".join((seed, *(name.encode() for name in names)))).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))


@dataclass(frozen=True)
class Data:
    """A data axis: its name in the suite, its name in words, and its builder."""

    name: str
    words: str
    build: Callable[[np.random.Generator, Shape, int], Values]


def _normal(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    return 2.0 * rng.standard_normal(shape)


def _shifted(offset: float, spread: float = 1.0) -> Callable[[np.random.Generator, Shape, int], Values]:
    return lambda rng, shape, block: offset + spread * rng.standard_normal(shape)


def _ramp(rise: float) -> Callable[[np.random.Generator, Shape, int], Values]:
    """Strictly monotone, by about `rise` over the row: each tile has a new extreme, wherever tiles end.

    Level and slope differ from row to row, and each element is off the line by up to a quarter of a step.
    """

    def build(rng: np.random.Generator, shape: Shape, block: int) -> Values:
        rows = (*shape[:-1], 1)
        step = rise * rng.uniform(0.75, 1.25, rows) / max(1, shape[-1] - 1)
        place = np.arange(shape[-1]) - (shape[-1] - 1) / 2 + rng.uniform(-0.25, 0.25, shape)
        return rng.standard_normal(rows) + step * place

    return build


def _spike(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    """One logit per row stands 30 above the rest: the others keep a share of e⁻³⁰, small but not lost in fp32."""
    values = rng.standard_normal(shape)
    at = rng.integers(0, shape[-1], size=(*shape[:-1], 1))
    np.put_along_axis(values, at, 30.0, axis=-1)
    return values


def _constant(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    return np.broadcast_to(rng.uniform(-4, 4, size=(*shape[:-1], 1)), shape).copy()


def _cliff(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    """The last quarter lies 110 below the rest: dividing by its own maximum overflows fp32."""
    values = rng.standard_normal(shape)
    values[..., shape[-1] - shape[-1] // 4 :] -= 110.0
    return values


def _ahead(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    """The first value stands 10.5 above the rest: a tile of them is lost in a half-precision sum near 1."""
    values = rng.standard_normal(shape) / 4 - 10.5
    values[..., 0] = 0.0
    return values


def _lift(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    """The first quarter lies 110 below the rest: relative to the maximum of an early tile, later ones overflow."""
    values = rng.standard_normal(shape)
    values[..., : shape[-1] // 4] -= 110.0
    return values


def _holes(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    """A third of the entries is −∞; the first column of each row stays finite, so every row has a finite entry."""
    values = np.where(rng.random(shape) < 1 / 3, -np.inf, 2.0 * rng.standard_normal(shape))
    values[..., 0] = rng.standard_normal(shape[:-1])
    return values


def _late(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    """The leading half is −∞, so any block up to that length finds nothing finite in its first tile."""
    values = 2.0 * rng.standard_normal(shape)
    values[..., : shape[-1] // 2] = -np.inf
    return values


def _scales(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    """Each row (head, batch) has its own scale and offset, so a row read twice or swapped shows."""
    rows = int(np.prod(shape[:-1]))
    scale = np.geomspace(0.25, 4.0, rows).reshape(*shape[:-1], 1)
    return scale * rng.standard_normal(shape) + rng.permutation(rows).reshape(*shape[:-1], 1)


def _apart(rng: np.random.Generator, shape: Shape, block: int) -> Values:
    """Neighbouring rows lie 150 apart, so the maximum of one row is no use to another."""
    rows = int(np.prod(shape[:-1]))
    return rng.standard_normal(shape) - 150.0 * np.arange(rows).reshape(*shape[:-1], 1)


DATA: dict[str, Data] = {
    data.name: data
    for data in (
        Data("normal", "normal values", _normal),
        Data("negative", "all values near −8", _shifted(-8.0, 0.5)),
        Data("mean3", "values with mean +3", _shifted(3.0)),
        Data("high", "all values near +300", _shifted(300.0)),
        Data("low", "all values near −400", _shifted(-400.0)),
        Data("deep", "all values near −20,000", _shifted(-20_000.0)),
        Data("rising", "a maximum that rises in every tile", _ramp(16.0)),
        Data("falling", "values that fall from tile to tile", _ramp(-16.0)),
        Data("spike", "one value far above the rest", _spike),
        Data("constant", "constant rows", _constant),
        Data("cliff", "a last quarter far below the rest", _cliff),
        Data("ahead", "a first value that outweighs each tile after it", _ahead),
        Data("lift", "a first quarter far below the rest", _lift),
        Data("holes", "some entries −∞", _holes),
        Data("late", "a leading half of −∞", _late),
        Data("apart", "rows far apart", _apart),
        Data("scales", "rows of different scale", _scales),
    )
}


def build(name: str, rng: np.random.Generator, shape: Shape, block: int) -> Values:
    """Values of the data axis `name`, float64, shape `shape`. Raises `KeyError` for a name that does not exist."""
    return DATA[name].build(rng, shape, block)
