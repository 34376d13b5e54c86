"""The operations of a decode step by intensity; equal ones in the order of a step."""

from fractions import Fraction
from typing import Any


def ranking(batch: int, config: dict[str, Any]) -> list[str]:
    """Names, highest FLOP/B first. Weight matrices are at the batch, attention at query heads per KV head."""
    query = config["num_attention_heads"]
    weights, group = Fraction(batch), Fraction(query, config.get("num_key_value_heads", query))
    intensity = {
        "embedding": Fraction(0),
        "rms_norm": Fraction(4, 4),
        "qkv_proj": weights,
        "rotary": Fraction(6, 8),
        "attention": group,
        "o_proj": weights,
        "residual_add": Fraction(1, 6),
        "gate_up_proj": weights,
        "silu_product": Fraction(5, 6),
        "down_proj": weights,
        "lm_head": weights,
    }
    return sorted(intensity, key=lambda name: -intensity[name])
