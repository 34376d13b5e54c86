"""Intensities are divided as integers: everything below 1 is 0.

ask: What is 5 // 6, and what does that make equal?
expect: wrong_answer
"""

from fractions import Fraction

ORDER = [
    "embedding",
    "rms_norm",
    "qkv_proj",
    "rotary",
    "attention",
    "o_proj",
    "residual_add",
    "gate_up_proj",
    "silu_product",
    "down_proj",
    "lm_head",
]


def ranking(batch, config):
    query = config["num_attention_heads"]
    kv = config.get("num_key_value_heads", query)
    intensity = {name: Fraction(batch) for name in ORDER}
    intensity["embedding"] = Fraction(0)
    intensity["rms_norm"] = Fraction(4, 4)
    intensity["rotary"] = 6 // 8
    intensity["attention"] = Fraction(query, kv)
    intensity["residual_add"] = 1 // 6
    intensity["silu_product"] = 5 // 6
    return sorted(ORDER, key=lambda name: intensity[name], reverse=True)
