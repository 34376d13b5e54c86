"""Two arrays, a tolerance, and what the difference looks like. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from grader.kit import Tolerance, Values, error_in_units
from grader.verdict import Element, Mismatch, TileMap, Where

MAP_ROWS = 16
MAP_TILES = 48


@dataclass(frozen=True)
class Feature:
    """One thing that a residual shows: a key that hints match on, and its words for the learner."""

    key: str
    words: str


@dataclass(frozen=True)
class Tiling:
    """How an output is cut: along which axis, in tiles of how many elements."""

    axis: int
    block: int


@dataclass(frozen=True)
class Comparison:
    """`error` is the largest in units of tolerance, ``None`` when it is not finite. `mismatch` is ``None`` if
    accepted.
    """

    error: float | None
    mismatch: Mismatch | None = None
    map: TileMap | None = None
    features: tuple[Feature, ...] = ()

    @property
    def accepted(self) -> bool:
        return self.mismatch is None and self.error is not None and self.error <= 1.0


def compare(
    name: str,
    actual: Values,
    expected: Values,
    allowed: Tolerance,
    tiling: Tiling | None,
    inputs: tuple[Values, ...],
) -> Comparison:
    """Compare one output, float64, with what was expected; same shape. `inputs` help to recognise a copied one."""
    units = error_in_units(actual, expected, allowed)
    right = units <= 1.0  # NaN is not
    worst = float(np.max(units, initial=0.0)) if not np.isnan(units).any() else float("nan")
    error = worst if np.isfinite(worst) else None
    if right.all():
        return Comparison(error)
    features = residual_features(actual, expected, right, tiling, inputs)
    mismatch = Mismatch(
        output=name,
        first=where(tuple(int(i) for i in np.argwhere(~right)[0]), tiling),
        expected=written(expected[~right][0]),
        actual=written(actual[~right][0]),
        wrong=int((~right).sum()),
        total=int(right.size),
        nan=int((np.isnan(actual) & ~np.isnan(expected)).sum()),
        inf=int((np.isinf(actual) & ~np.isinf(expected)).sum()),
        features=tuple(feature.words for feature in features),
        not_finite=first_not_finite(actual, expected, right, tiling),
    )
    return Comparison(error, mismatch, tile_map(units, tiling), features)


def first_not_finite(
    actual: Values, expected: Values, right: NDArray[np.bool_], tiling: Tiling | None
) -> Element | None:
    """The first NaN or infinity where none belongs, unless the first wrong element is one already."""
    odd = (np.isnan(actual) & ~np.isnan(expected)) | (np.isinf(actual) & ~np.isinf(expected))
    if not odd.any() or odd[~right][0]:
        return None
    index = tuple(int(i) for i in np.argwhere(odd)[0])
    return Element(at=where(index, tiling), expected=written(expected[index]), actual=written(actual[index]))


def where(index: tuple[int, ...], tiling: Tiling | None) -> Where:
    """The element, with its tile and lane when the result is cut into tiles."""
    if tiling is None:
        return Where(index=index)
    tile, lane = divmod(index[tiling.axis], tiling.block)
    return Where(index=index, axis=tiling.axis, tile=tile, lane=lane, block=tiling.block)


def written(value: float) -> str:
    """A number as a learner reads it; NaN and infinities by name."""
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.9g}".replace("-", "−")


def tile_map(units: Values, tiling: Tiling | None) -> TileMap | None:
    """The largest error of each row in each tile; long axes keep the largest of what they fold together."""
    if tiling is None or units.ndim < 1:
        return None
    flat = np.moveaxis(units, tiling.axis, -1).reshape(-1, units.shape[tiling.axis])
    tiles = -(-flat.shape[1] // tiling.block)
    padded = np.zeros((flat.shape[0], tiles * tiling.block))
    padded[:, : flat.shape[1]] = np.where(np.isnan(flat), np.inf, flat)
    worst = padded.reshape(flat.shape[0], tiles, tiling.block).max(axis=2)
    rows = _folds(flat.shape[0], MAP_ROWS)
    columns = _folds(tiles, MAP_TILES)
    cells = tuple(
        tuple(_finite(worst[top:bottom, left:right].max()) for left, right in columns) for top, bottom in rows
    )
    return TileMap(block=tiling.block, rows=tuple(top for top, _ in rows), cells=cells)


def _folds(length: int, most: int) -> list[tuple[int, int]]:
    edges = np.linspace(0, length, min(length, most) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def residual_features(
    actual: Values, expected: Values, right: NDArray[np.bool_], tiling: Tiling | None, inputs: tuple[Values, ...]
) -> tuple[Feature, ...]:
    """What stands out in the wrong elements, most telling first."""
    found = [*_whole(actual, expected, inputs), *_in_rows(right), *_in_tiles(right, tiling)]
    factor = _factor(actual, expected, right)
    return tuple(found if factor is None else [*found, factor])


def _whole(actual: Values, expected: Values, inputs: tuple[Values, ...]) -> list[Feature]:
    """What can be said of the result as a whole."""
    if np.isnan(actual).all():
        return [Feature("all_nan", "every element is NaN")]
    found = []
    if np.isnan(actual).any():
        found.append(Feature("some_nan", "some elements are NaN"))
    if not actual.any():
        found.append(Feature("zeros", "every element is zero"))
    if any(values.shape == actual.shape and np.array_equal(values, actual) for values in inputs):
        found.append(Feature("input", "the result equals an input"))
    if actual.ndim and actual.shape[-1] > 1 and not found:
        with np.errstate(invalid="ignore"):  # both infinities in a row have no mean, and the row is not constant
            level = actual.mean(axis=-1, keepdims=True)
        if np.allclose(actual, level, rtol=1e-6) and not np.allclose(expected, expected.mean(-1, keepdims=True)):
            found.append(Feature("flat", "each row is constant"))
    return found


def _in_rows(right: NDArray[np.bool_]) -> list[Feature]:
    """Which rows (all axes but the last) are wrong."""
    if right.ndim < 2:
        return []
    rows = right.reshape(-1, right.shape[-1])
    wrong = np.asarray(~rows.all(axis=1))
    found = []
    if 0 < wrong.sum() < len(wrong):
        first = not wrong[0] and wrong[1:].all()
        text = "only the first row is right" if first else f"{wrong.sum()} of {len(wrong)} rows are wrong"
        found.append(Feature("all_but_first_row" if first else "some_rows", text))
    if not rows[wrong].any() and right.shape[-1] > 1:
        found.append(Feature("whole_rows", "where a row is wrong, all of it is"))
    return found


def _in_tiles(right: NDArray[np.bool_], tiling: Tiling | None) -> list[Feature]:
    """Which tiles are wrong."""
    if tiling is None or right.shape[tiling.axis] <= tiling.block:
        return []
    columns = np.moveaxis(right, tiling.axis, -1).reshape(-1, right.shape[tiling.axis])
    columns = np.asarray(columns.all(axis=0))
    tiles = [bool(columns[i : i + tiling.block].all()) for i in range(0, len(columns), tiling.block)]
    if all(tiles[:-1]) and not tiles[-1]:
        return [Feature("last_tile", "only the last tile is wrong")]
    if all(tiles[1:]) and not tiles[0]:
        return [Feature("first_tile_wrong", "only the first tile is wrong")]
    if tiles[0] and not any(tiles[1:]):
        return [Feature("first_tile_right", "only the first tile is right")]
    return []


def _factor(actual: Values, expected: Values, right: NDArray[np.bool_]) -> Feature | None:
    """Is the result a multiple of what was expected, everywhere or row by row?"""
    usable = np.isfinite(actual) & np.isfinite(expected) & (expected != 0) & (actual != 0)
    if not usable.any() or right.ndim == 0 or not usable[~right].all() or usable.sum() < 2:
        return None
    ratio = np.where(usable, actual, np.nan) / np.where(usable, expected, np.nan)
    middle = float(np.nanmedian(ratio))
    if np.nanmax(np.abs(ratio / middle - 1)) < 1e-3:
        return Feature("factor", f"the result is {middle:.4g} times what it should be")
    if right.ndim > 1 and right.shape[-1] > 1:
        filled = np.where(usable.any(axis=-1, keepdims=True), ratio, 1.0)
        per_row = np.nanmedian(filled, axis=-1, keepdims=True)
        if np.nanmax(np.abs(filled / per_row - 1)) < 1e-3:
            return Feature("row_factor", "each row is off by a factor of its own")
    return None
