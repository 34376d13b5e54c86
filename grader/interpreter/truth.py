"""Conditions: one answer for all programs, or one a program."""

from __future__ import annotations

from typing import Any

from grader.interpreter.dtypes import Array
from grader.interpreter.errors import Rejected
from grader.interpreter.run import Run
from grader.interpreter.undefined import report_use
from grader.interpreter.value import Value, is_number


def truth(run: Run, condition: Any) -> bool | Array:
    """True or False when all programs agree, else an array with one entry a program."""
    if not isinstance(condition, Value):
        if condition is None or is_number(condition) or isinstance(condition, str | tuple):
            return bool(condition)
        raise Rejected(f"`if` and `while` take numbers and scalar tensors, got {condition!r}")
    if condition.shape != () and condition.numel != 1:
        raise Rejected(
            f"the condition is a tile of shape {list(condition.shape)}, not a scalar: "
            "select lanes with tl.where or a mask"
        )
    report_use(run, condition, "the condition")
    data = condition.data.reshape(-1)
    answers = data if data.dtype == bool else data != 0
    if len(answers) == 1 or answers.all():
        return bool(answers[0])
    return answers if answers.any() else False
