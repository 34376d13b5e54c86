"""The learner's end of a function that the judge keeps to itself: a call goes over the wire, its value comes back.

Nothing of the function is in this process, only a number and the names of its parameters. Calls from several
threads wait for each other, and none gets through once the call of the entry that was given it has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from grader import wire
from grader.tensors import TooLarge, Workshop

ERRORS: dict[str, type[Exception]] = {kind.__name__: kind for kind in (TypeError, ValueError, RuntimeError)}


class Served:
    """The functions that one call of an entry may ask for."""

    def __init__(self, ask: Callable[[wire.Wanted], wire.Order], workshop: Workshop, limit: int) -> None:
        """`ask` sends a question and waits for what comes next; arguments have at most `limit` bytes."""
        self._ask = ask
        self._workshop = workshop
        self._limit = limit
        self._lock = threading.Lock()
        self._over = False

    def function(self, handle: wire.Handle) -> Callable[..., Any]:
        """What the learner's code is given. Raises what the judge says, and TypeError for a wrong number."""

        def served(*args: Any, **named: Any) -> Any:
            return self._call(handle.id, positional(handle.parameters, args, named))

        return served

    def close(self) -> None:
        """No call gets through from now on; one that is under way is waited for."""
        with self._lock:
            self._over = True

    def _call(self, handle: int, args: Sequence[Any]) -> Any:
        try:
            sent = [self._workshop.take(value, self._limit)[0] for value in args]
        except TooLarge:
            raise ValueError("the arguments have more bytes than any call may have") from None
        with self._lock:
            if self._over:
                raise RuntimeError("this function can only be called while the call that was given it runs")
            self._over = True  # unless all goes well: half an exchange leaves the wire unusable
            given = self._ask(wire.Wanted(handle=handle, args=sent))
            self._over = False
        if not isinstance(given, wire.Given):
            raise RuntimeError("there is no answer")
        if given.error:
            _raise(given)
        return self._workshop.make(given.value, [])


def positional(parameters: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The arguments in the order of the parameters. Raises TypeError, as a function in Python would."""
    names = ", ".join(parameters)
    if len(args) + len(named) != len(parameters):
        raise TypeError(f"the function takes {len(parameters)} arguments ({names}), not {len(args) + len(named)}")
    rest = parameters[len(args) :]
    if set(rest) != set(named):
        raise TypeError(f"the function takes the arguments {names}; given by name: {', '.join(named)}")
    return [*args, *(named[name] for name in rest)]


def _raise(given: wire.Given) -> NoReturn:
    raise ERRORS.get(given.error, RuntimeError)(given.message)
