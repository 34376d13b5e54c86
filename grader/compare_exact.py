"""A plain result against the one that was expected: equal in value and in type, or what stands out. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grader.compare import Comparison, Feature
from grader.messages import plain
from grader.verdict import Mismatch, Where
from grader.wire import Array, Other, to_numpy

NAMES = {bool: "bool", int: "int", float: "float", str: "str", type(None): "None", list: "list", dict: "dict"}
MOST = 8  # entries that are named
LONGEST = 120  # characters of a value in a verdict
INTEGERS = frozenset({"int64", "int32", "int16", "int8", "uint8"})


def compare_exactly(name: str, actual: object, expected: object) -> Comparison:
    """Compare one plain output. Tuples count as lists, and a NumPy integer as an int."""
    actual, expected = _plain(actual), _plain(expected)
    wrong = list(_differences(actual, expected, ()))
    if not wrong:
        return Comparison(0.0)
    first = wrong[0]
    features = tuple(_features(actual, expected))
    mismatch = Mismatch(
        output=name + "".join(f"[{part!r}]" for part in first[0]),
        first=Where(index=tuple(part for part in first[0] if isinstance(part, int))),
        expected=written(first[2]),
        actual=written(first[1]),
        wrong=len(wrong),
        total=max(len(wrong), _leaves(expected)),
        nan=0,
        inf=0,
        features=tuple(feature.words for feature in features),
    )
    return Comparison(None, mismatch, None, features)


def written(value: object) -> str:
    """A plain value as a learner reads it: ints with their digits in groups, texts in quotes, others by type."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if isinstance(value, float | str | list | dict):
        return plain(repr(value), LONGEST)
    return type_words(value)


class Missing:
    """Stands where a list or dict has no item."""


def _plain(value: object) -> Any:
    """`value` with tuples as lists, and integer arrays of no axes as ints."""
    if isinstance(value, Array) and value.shape == () and value.dtype in INTEGERS:
        return int(to_numpy(value)[()])
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _differences(actual: Any, expected: Any, path: tuple[int | str, ...]) -> Iterator[tuple[Any, Any, Any]]:
    """(path, actual, expected) wherever the two differ, in the order of what was expected."""
    if type(actual) is not type(expected):
        yield path, actual, expected
    elif isinstance(expected, list):
        for i in range(max(len(actual), len(expected))):
            yield from _differences(_item(actual, i), _item(expected, i), (*path, i))
    elif isinstance(expected, dict):
        for key in [*expected, *(key for key in actual if key not in expected)]:
            yield from _differences(actual.get(key, Missing()), expected.get(key, Missing()), (*path, str(key)))
    elif actual != expected:
        yield path, actual, expected


def _item(values: list[Any], at: int) -> Any:
    return values[at] if at < len(values) else Missing()


def _leaves(value: Any) -> int:
    return max(1, len(value)) if isinstance(value, list | dict) else 1


def _features(actual: Any, expected: Any) -> Iterator[Feature]:
    """What stands out, most telling first."""
    if type(actual) is not type(expected):
        yield Feature("type", f"the result is {type_words(actual)}, not {type_words(expected)}")
        if type(actual) is float and type(expected) is int and actual == expected:
            yield Feature("right_number", "the number is right, its type is not")
        return
    if isinstance(expected, int) and not isinstance(expected, bool):
        yield from _ratio(actual, expected)
    elif isinstance(expected, list):
        same = sorted(map(repr, actual)) == sorted(map(repr, expected))
        if same:
            yield Feature("order", "the items are right, their order is not")
        elif len(actual) != len(expected):
            yield Feature("length", f"the list has {len(actual)} items, not {len(expected)}")
    elif isinstance(expected, dict):
        if actual.keys() != expected.keys():
            yield Feature("keys", "the keys are not those that the contract names")
        for key in [key for key in expected if key in actual and actual[key] != expected[key]][:MOST]:
            yield Feature(f"entry_{key}", f"the entry {key} differs")


def _ratio(actual: int, expected: int) -> Iterator[Feature]:
    """A whole multiple or part, or one off: the marks of a forgotten factor or a boundary."""
    if actual == 0 or expected == 0:
        yield Feature("zero", "the result is zero") if actual == 0 else Feature("not_zero", "zero was expected")
    elif abs(actual - expected) == 1:
        yield Feature("one_off", "the result is off by one")
    elif actual % expected == 0:
        yield Feature(f"times_{actual // expected}", f"the result is {actual // expected} times what it should be")
    elif expected % actual == 0:
        part = expected // actual
        yield Feature(f"part_{part}", f"the result is one {part}th of what it should be")
    else:
        yield Feature("too_large" if actual > expected else "too_small", f"the ratio is {actual / expected:.4g}")


def type_words(value: object) -> str:
    """The type of a value as a learner knows it, with an article."""
    if isinstance(value, Missing):
        return "nothing"
    if isinstance(value, Array):
        return f"an array of {value.dtype}"
    if isinstance(value, Other):
        return f"a {value.type_name[:80]}"
    name = NAMES.get(type(value), type(value).__name__)
    return f"an {name}" if name[0] in "ai" else name if name == "None" else f"a {name}"
