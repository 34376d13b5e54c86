"""One query and the keys it sees, for the tile stepper. Nothing here decides an outcome."""

from grader.kit import Ask, RunningRow, attention_row


def row(ask: Ask, index: tuple[int, ...]) -> RunningRow:
    q, k, v, causal = ask.args
    return attention_row(q, k, v, index, causal=bool(causal))
