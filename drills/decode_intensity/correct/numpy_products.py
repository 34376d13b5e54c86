"""Counts as NumPy products; the results are NumPy numbers."""

import numpy as np


def gemm_intensity(batch, rows, cols):
    moved = np.array([rows * cols, batch * cols, batch * rows], dtype=np.float64) * 2
    return np.prod(np.array([2.0, batch, rows, cols])) / moved.sum()


def attention_intensity(config):
    kv = config["num_key_value_heads"] if "num_key_value_heads" in config else config["num_attention_heads"]
    per_key = np.float64(2 + 2) * config["num_attention_heads"]
    return per_key / ((1 + 1) * kv * config.get("bytes_per_element", 2))


def mla_intensity(config):
    lengths = np.array([config["kv_lora_rank"], config["qk_rope_head_dim"]])
    return (2.0 * config["num_attention_heads"] * lengths @ np.array([2, 1])) / (2.0 * lengths.sum())
