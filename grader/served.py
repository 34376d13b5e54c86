"""The learner's end of a function that the judge keeps to itself: a call goes over the wire, its value comes back.

Nothing of the function is in this process, only a number and the names of its parameters. Calls from several
threads wait for each other, and none gets through once the call of the entry that was given it has ended.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from grader import wire
from grader.tensors import TooLarge, Workshop

MOST_BYTES: Final = 16 << 20  # of one call; the judge has a limit of its own
ERRORS: Final[dict[str, type[Exception]]] = {kind.__name__: kind for kind in (TypeError, ValueError, RuntimeError)}


class Channel(Protocol):
    """Whole messages to the judge and from it."""

    def send(self, answer: wire.Answer) -> None: ...
    def receive(self) -> wire.Order: ...


class Served:
    """The functions that one call of an entry may ask for."""

    def __init__(self, channel: Channel, workshop: Workshop) -> None:
        self._channel = channel
        self._workshop = workshop
        self._lock = threading.Lock()
        self._over = False
        self._owed = False  # a question was sent, and its answer not read: an exception came between

    def function(self, handle: wire.Handle) -> Callable[..., Any]:
        """What the learner's code is given. Raises what the judge says, and TypeError for a wrong number."""

        def served(*args: Any, **named: Any) -> Any:
            return self._call(handle.id, positional(handle.parameters, args, named))

        return served

    def close(self) -> None:
        """No call gets through from now on; one that is under way is waited for."""
        with self._lock:
            self._over = True
            self._settle()

    def _settle(self) -> None:
        """Read the answer that nobody waits for any more, if there is one."""
        if self._owed:
            self._channel.receive()
            self._owed = False

    def _call(self, handle: int, args: Sequence[Any]) -> Any:
        try:
            sent, _ = self._workshop.take(list(args), MOST_BYTES)
        except TooLarge:
            raise ValueError(f"the arguments of one call have at most {MOST_BYTES:,} bytes") from None
        with self._lock:
            self._settle()
            if self._over:
                raise RuntimeError("this function can only be called while the call that was given it runs")
            with undisturbed():
                self._channel.send(wire.Wanted(handle=handle, args=sent))
                self._owed = True
                given = self._channel.receive()
                self._owed = False
        if not isinstance(given, wire.Given):
            raise RuntimeError("there is no answer")
        if given.error:
            raise ERRORS.get(given.error, RuntimeError)(given.message)
        return self._workshop.make(given.value, [])


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Signals wait: a handler of the learner's that raises would leave half a message on the wire."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def positional(parameters: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The arguments in the order of the parameters. Raises TypeError, as a function in Python would."""
    names = ", ".join(parameters)
    if len(args) + len(named) != len(parameters):
        raise TypeError(f"the function takes {len(parameters)} arguments ({names}), not {len(args) + len(named)}")
    rest = parameters[len(args) :]
    if set(rest) != set(named):
        raise TypeError(f"the function takes the arguments {names}; given by name: {', '.join(named)}")
    return [*args, *(named[name] for name in rest)]
