"""The judge's end of a served function: counts the calls, looks at the arguments, runs it.

What is asked for comes from a hostile process. Every question counts, also one that is refused; when the calls are
spent nothing more is run, whatever is asked.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader import messages
from grader.kit import Ask, BadCall, Foreign, Served, decode
from grader.verdict import Calls
from grader.wire import GIVEN_ERRORS, Array, Given, Handle, Malformed, Other, Value, Wanted, from_numpy, to_numpy


class Service:
    """The functions that one call of an entry may ask for. `seconds` is the time spent in them."""

    def __init__(self, ask: Ask) -> None:
        self._offered = {i: argument for i, argument in enumerate(ask.args) if isinstance(argument, Served)}
        self._used = dict.fromkeys(self._offered, 0)
        self._log: list[str] = []
        self.seconds = 0.0

    def __bool__(self) -> bool:
        return bool(self._offered)

    @property
    def overdrawn(self) -> Served | None:
        """A function that was asked for more often than it may be."""
        return next((self._offered[i] for i, used in self._used.items() if used > self._offered[i].limit), None)

    @property
    def calls(self) -> Calls | None:
        """How often the first of them was asked for, and what with."""
        for i, served in self._offered.items():
            return Calls(name=served.name, used=self._used[i], allowed=served.limit, log=tuple(self._log))
        return None

    def __call__(self, wanted: Wanted) -> Given:
        """The answer to a question. Raises `Malformed` for a function that was not offered."""
        served = self._offered.get(wanted.handle)
        if served is None:
            raise Malformed("a question about something that was not offered")
        self._used[wanted.handle] += 1
        if self._used[wanted.handle] > served.limit:
            return Given(error="RuntimeError", message=messages.calls_spent(served.name, served.limit))
        started = time.perf_counter()
        try:
            return self._answer(served, wanted.args)
        finally:
            self.seconds += time.perf_counter() - started

    def _answer(self, served: Served, args: Sequence[Value]) -> Given:
        self._log.append(_logged(served, args))
        try:
            if len(args) != len(served.parameters):
                raise BadCall("TypeError", f"{served.name} takes {len(served.parameters)} arguments")
            if sum(len(array.storage) for array in args if isinstance(array, Array)) > served.most_bytes:
                raise BadCall("ValueError", f"the arguments of one call have at most {served.most_bytes:,} bytes")
            with np.errstate(all="ignore"):
                value = served.function(*(as_given(value) for value in args))
        except BadCall as bad:
            self._log[-1] += f": {bad}"
            error = bad.error if bad.error in GIVEN_ERRORS else "ValueError"
            return Given(error=error, message=f"{served.name}: {bad}")
        return Given(value=from_numpy(value) if isinstance(value, np.ndarray) else value)


def handles(position: int, served: Served) -> Handle:
    """What the learner's side gets in place of the function at this position."""
    return Handle(id=position, parameters=list(served.parameters))


def as_given(value: Value) -> Any:
    """A value from the wire as a drill takes it: NumPy arrays, plain values, `Foreign` for the rest."""
    if isinstance(value, Array):
        found = to_numpy(value)
        array = decode(found, "bf16") if value.dtype == "bf16" else found
        return array.item() if array.shape == () else array
    if isinstance(value, Other):
        return Foreign(messages.plain(value.type_name, 80))
    if isinstance(value, list):
        return [as_given(item) for item in value]
    if isinstance(value, dict):
        return {key: as_given(item) for key, item in value.items()}
    return value


def _logged(served: Served, args: Sequence[Value]) -> str:
    """The arguments in a few words: names and shapes."""
    shapes = ("×".join(map(str, arg.shape)) or "a number" if isinstance(arg, Array) else "no array" for arg in args)
    return ", ".join(f"{name} {shape}" for name, shape in zip(served.parameters, shapes, strict=False))
