"""The product of an array of 64-bit integers."""

import numpy as np


def bytes_per_token(config):
    full = {"bytes_per_element": 2, "num_key_value_heads": config["num_attention_heads"]} | config
    full.setdefault("head_dim", full["hidden_size"] // full["num_attention_heads"])
    if "kv_lora_rank" in full:
        per_layer = [1, full["kv_lora_rank"] + full["qk_rope_head_dim"]]
    else:
        per_layer = [2, full["num_key_value_heads"] * full["head_dim"]]
    factors = np.array([*per_layer, full["num_hidden_layers"], full["bytes_per_element"]], dtype=np.int64)
    return int(factors.prod())
