"""Who serves a lane, in words."""

from __future__ import annotations

from collections.abc import Sequence

from app.jobs import Heartbeat
from grader.verdict import Lane


def lane_note(lane: Lane, workers: Sequence[Heartbeat]) -> str:
    """Why nobody grades in a lane at the moment, or nothing."""
    mine = [worker for worker in workers if worker.lane == lane]
    if any(worker.trouble is None for worker in mine):
        return ""
    where = "on the GPU" if lane is Lane.GPU else "here"
    if mine:
        return f"Nothing is graded {where} until this is mended: {mine[0].trouble}"
    return f"No worker is running {where}. What you submit waits and is graded when one starts."
