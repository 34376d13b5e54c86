"""Cuts of a block, and bytes that a rank sends in a forward pass."""

LAYERS, WIDTH, BYTES = 80, 8192, 2


def plan() -> dict[str, str]:
    """Columns where a half of the block begins, rows where it ends."""
    columns = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj")
    return dict.fromkeys(columns, "column") | {"o_proj": "row", "down_proj": "row"}


def bytes_sent(tokens: int, ranks: int) -> int:
    """Two ring all-reduces a layer over one bf16 vector of the model's width per token; rounded down once."""
    reduced = 2 * LAYERS * tokens * WIDTH * BYTES
    return reduced * 2 * (ranks - 1) // ranks
