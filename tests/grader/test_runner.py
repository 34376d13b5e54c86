"""The judge's end against a peer that may say anything: it always ends with an answer or a failure, in time."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import wire
from grader.failure import Failure, FailureKind, Limits, clean, learner_failure, status_text
from grader.runner import Runner

LIMITS = Limits(answer_bytes=1 << 16, console_bytes=100, printed_bytes=5000, load_seconds=0.3, total_seconds=0.5)
CALL = wire.Call(id=7, entry="f", args=[])


class Peer:
    """A process as the runner sees it, played by threads of the test over real descriptors."""

    def __init__(self) -> None:
        self.channel, self.far = socket.socketpair()
        self.out, self.far_out = os.pipe()
        self.err, self.far_err = os.pipe()
        self.status: int | None = None
        self.killed = self.out_of_memory = self.paused = False
        self.memory = 0

    @property
    def descriptors(self) -> tuple[int, int, int]:
        return self.channel.fileno(), self.out, self.err

    def kill(self) -> None:
        self.killed = True

    def close(self) -> int:
        for thing in (self.channel, self.far):
            thing.close()
        for descriptor in (self.out, self.far_out, self.err, self.far_err):
            os.close(descriptor)
        return 0

    def limit(self, memory_bytes: int, processes: int) -> bool:
        return False

    def killed_for_memory(self) -> bool:
        return self.out_of_memory

    def resident(self) -> int:
        return self.memory

    def pause(self, stop: bool) -> None:
        self.paused = stop

    def wait(self, seconds: float) -> int | None:
        return self.status

    def say(self, data: bytes, *, last: bool = False) -> None:
        with contextlib.suppress(OSError):  # the runner may have hung up
            self.far.sendall(data)
            if last:
                self.far.shutdown(socket.SHUT_WR)

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        threading.Timer(seconds, act).start()


def asked(data: bytes) -> Failure | wire.Returned:
    """What a call gives when `data` comes back for it."""
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        peer.after(0.01, lambda: peer.say(data, last=True))
        answer = runner.call(CALL, 0.3)
        if isinstance(answer, Failure):
            assert peer.killed and not runner.usable
            assert runner.call(CALL, 0.3) == answer
        return answer


def kind(answer: object) -> FailureKind | None:
    return answer.kind if isinstance(answer, Failure) else None


def test_an_answer() -> None:
    assert asked(wire.frame(wire.Returned(id=7, value=3))) == wire.Returned(id=7, value=3)


@given(st.binary(max_size=64))
@settings(max_examples=25, deadline=None)
def test_noise_is_never_an_answer(noise: bytes) -> None:
    assert kind(asked(noise)) is FailureKind.MALFORMED


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x02\x91",
        wire.frame(wire.Returned(id=8, value=3)),
        wire.frame(wire.Loaded()),
        wire.frame(wire.Ready(seconds=0)),
        wire.frame(wire.Returned(id=7, value=3)) * 2,
        wire.frame(wire.Returned(id=7, value=3)) + b"\x00",
        wire.frame(wire.Returned(id=7, value=3, args_digest=["x"])),
        wire.frame(wire.Returned(id=7, value="x" * (2 << 20))),
    ],
)
def test_answers_that_do_not_fit_the_call(data: bytes) -> None:
    assert kind(asked(data)) is FailureKind.MALFORMED


def test_arguments_come_back_with_the_layout_they_had() -> None:
    sent = wire.Array(dtype="fp32", shape=(2,), strides=(1,), offset=1, storage=bytes(16))
    call = wire.Call(id=7, entry="f", args=[sent, 3], return_args=[0, 1])
    changes: list[tuple[dict[str, Any], bool]] = [
        ({}, True),
        ({"shape": (3,)}, False),
        ({"dtype": "int32"}, False),
        ({"offset": 0}, False),
        ({"storage": bytes(20)}, False),
    ]
    for change, fits in changes:
        peer = Peer()
        with Runner(peer, LIMITS) as runner:
            back = msgspec.structs.replace(sent, **change)
            answer = wire.Returned(id=7, value=None, args={0: back}, args_digest=["x"])
            peer.after(0.01, lambda peer=peer, answer=answer: peer.say(wire.frame(answer)))  # type: ignore[misc]
            assert isinstance(runner.call(call, 0.3), wire.Returned) == fits


def test_what_was_said_before_the_question_is_no_answer() -> None:
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        peer.say(wire.frame(wire.Returned(id=7, value="early")))
        assert kind(runner.call(CALL, 0.3)) is FailureKind.MALFORMED


def test_silence_ends_at_the_limit_and_time_adds_up_to_the_total() -> None:
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        started = time.monotonic()
        assert kind(runner.call(CALL, 0.1)) is FailureKind.TIME_LIMIT
        assert 0.1 <= time.monotonic() - started < 5
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        for _ in range(2):
            peer.after(0.2, lambda: peer.say(wire.frame(wire.Returned(id=7, value=None))))
            assert isinstance(runner.call(CALL, 10), wire.Returned)
        assert kind(runner.call(CALL, 10)) is FailureKind.TIME_LIMIT
        assert runner.seconds < 2  # of the ten of each call


def test_a_peer_that_does_not_read_blocks_nobody() -> None:
    big = wire.Call(id=7, entry="f", args=["x" * (8 << 20)])
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        assert kind(runner.call(big, 0.1)) is FailureKind.TIME_LIMIT


def test_printing_is_kept_to_a_cap_and_stopped_at_a_limit() -> None:
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        os.write(peer.far_out, b"a" * 90 + b"\x00\x1b[1m\xff" + b"b" * 100)
        peer.after(0.05, lambda: peer.say(wire.frame(wire.Returned(id=7, value=None))))
        assert isinstance(runner.call(CALL, 0.3), wire.Returned)
        console = runner.close()
        assert console.text.startswith("a" * 90 + "\N{REPLACEMENT CHARACTER}")
        assert console.dropped == 96 and "\x1b" not in console.text
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        os.write(peer.far_err, b"x" * 6000)
        assert kind(runner.call(CALL, 0.3)) is FailureKind.OUTPUT_LIMIT


@pytest.mark.parametrize(
    ("status", "out_of_memory", "expected"),
    [
        (0, False, FailureKind.DIED),
        (139, False, FailureKind.DIED),
        (137, True, FailureKind.OUT_OF_MEMORY),
        (152, False, FailureKind.TIME_LIMIT),
        (None, False, FailureKind.MALFORMED),
    ],
)
def test_a_closed_channel_is_explained(status: int | None, out_of_memory: bool, expected: FailureKind) -> None:
    peer = Peer()
    peer.status, peer.out_of_memory = status, out_of_memory
    with Runner(peer, LIMITS) as runner:
        os.write(peer.far_err, b'Fatal Python error: Segmentation fault\n  File "submission.py", line 12 in f\n')
        peer.far.close()
        failure = runner.call(CALL, 0.3)
        assert isinstance(failure, Failure) and failure.kind is expected
        assert failure.line == (12 if expected is FailureKind.DIED else None)


def test_memory_is_watched_where_nothing_else_limits_it() -> None:
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        runner.confine(LIMITS)
        peer.memory = LIMITS.memory_bytes + 1
        assert kind(runner.call(CALL, 0.3)) is FailureKind.OUT_OF_MEMORY


def test_an_exception_leaves_the_runner_usable_and_a_failed_load_does_not() -> None:
    failed = wire.frame(wire.Failed(kind="raised", message="ValueError: no\x00", line=3))
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        peer.after(0.01, lambda: peer.say(failed))
        assert runner.call(CALL, 0.3) == Failure(
            FailureKind.RAISED, "ValueError: no\N{REPLACEMENT CHARACTER}", "", 3
        )
        assert runner.usable
        peer.after(0.01, lambda: peer.say(failed))
        assert kind(runner.load(wire.Load(source="", entries=[]))) is FailureKind.RAISED
        assert not runner.usable


def test_source_that_cannot_travel_is_a_compile_error() -> None:
    peer = Peer()
    with Runner(peer, LIMITS) as runner:
        assert kind(runner.load(wire.Load(source="x = '\ud800'", entries=[]))) is FailureKind.COMPILE_ERROR


def test_closing_twice_is_closing_once() -> None:
    peer = Peer()
    runner = Runner(peer, LIMITS)
    assert runner.close() == runner.close()
    assert runner.closed and kind(runner.call(CALL, 0.1)) is FailureKind.REFUSED


def test_texts() -> None:
    assert clean("a\r\nb\tc\x07\ud800") == "a\nb\tc\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
    assert "SIGSEGV" in status_text(139) and "status 3" in status_text(3) and "status 200" in status_text(200)
    assert learner_failure(wire.Failed(kind="raised", message="x", line=-4)).line is None
