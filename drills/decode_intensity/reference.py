"""FLOPs per byte of decode operations: exact counts, one division."""

from typing import Any

Config = dict[str, Any]


def gemm_intensity(batch: int, rows: int, cols: int) -> float:
    """A matrix of rows × cols times `batch` vectors; weights, input and output at 2 B a number."""
    return 2 * batch * rows * cols / (2 * (rows * cols + batch * cols + batch * rows))


def attention_intensity(config: Config) -> float:
    """Decode attention: FLOPs of all query heads over one read of each key and value."""
    query = int(config["num_attention_heads"])
    kv = int(config.get("num_key_value_heads", query))
    dim = int(config.get("head_dim", config["hidden_size"] // query))
    return float(4 * query * dim / (2 * kv * dim * config.get("bytes_per_element", 2)))


def mla_intensity(config: Config) -> float:
    """Absorbed latent attention: scores over r + rope numbers, sums over r, from one vector of 2 B numbers."""
    rank, width = config["kv_lora_rank"], config["kv_lora_rank"] + config["qk_rope_head_dim"]
    return float(2 * config["num_attention_heads"] * (width + rank) / (2 * width))
