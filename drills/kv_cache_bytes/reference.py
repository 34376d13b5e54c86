"""Bytes of the KV cache for one token, all layers."""

from typing import Any


def bytes_per_token(config: dict[str, Any]) -> int:
    """Exact bytes; MLA where the configuration has a latent rank, else keys and values of the KV heads."""
    if "kv_lora_rank" in config:
        numbers = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    else:
        heads = config["num_attention_heads"]
        head_dim = config.get("head_dim", config["hidden_size"] // heads)
        numbers = 2 * config.get("num_key_value_heads", heads) * head_dim
    return int(config["num_hidden_layers"] * numbers * config.get("bytes_per_element", 2))
