"""The lowest intensity comes first.

ask: At which end of your list is the embedding?
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
    intensity["rotary"] = Fraction(6, 8)
    intensity["attention"] = Fraction(query, kv)
    intensity["residual_add"] = Fraction(1, 6)
    intensity["silu_product"] = Fraction(5, 6)
    return sorted(ORDER, key=lambda name: intensity[name])
