"""Floats are exact enough here: sorted by (−intensity, position in a step)."""

COUNTS = {
    "embedding": (0, 2),
    "rms_norm": (4, 4),
    "qkv_proj": None,
    "rotary": (6, 8),
    "attention": None,
    "o_proj": None,
    "residual_add": (1, 6),
    "gate_up_proj": None,
    "silu_product": (5, 6),
    "down_proj": None,
    "lm_head": None,
}


def ranking(batch, config):
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads", heads)
    rows = []
    for position, (name, counts) in enumerate(COUNTS.items()):
        if name == "attention":
            counts = (4 * heads, 4 * kv)
        elif counts is None:
            counts = (2 * batch, 2)
        rows.append((-counts[0] / counts[1], position, name))
    return [name for _, _, name in sorted(rows)]
