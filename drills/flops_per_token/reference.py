"""FLOPs of one new token, as exact integers."""

from typing import Any

Config = dict[str, Any]


def heads(config: Config) -> tuple[int, int, int]:
    """Query heads, KV heads, and the size of a head."""
    query = int(config["num_attention_heads"])
    kv = int(config.get("num_key_value_heads", query))
    return query, kv, int(config.get("head_dim", config["hidden_size"] // query))


def matmul_flops(config: Config) -> int:
    """Two per weight of every matrix product: seven matrices a layer, and the projection to the vocabulary."""
    hidden = int(config["hidden_size"])
    query, kv, dim = heads(config)
    attention = 2 * hidden * query * dim + 2 * hidden * kv * dim
    feed_forward = 3 * hidden * int(config["intermediate_size"])
    return 2 * (int(config["num_hidden_layers"]) * (attention + feed_forward) + hidden * int(config["vocab_size"]))


def attention_flops(config: Config, context: int) -> int:
    """Scores and weighted sum of one query over `context` keys, all heads and layers."""
    query, _, dim = heads(config)
    return 4 * context * query * dim * int(config["num_hidden_layers"])


def break_even_context(config: Config) -> int:
    """The least context at which attention costs at least as much as all matrices."""
    return -(-matmul_flops(config) // attention_flops(config, 1))
