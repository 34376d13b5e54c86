"""The lengths of all vectors that one layer keeps, added up."""


def vectors(config):
    if config.get("kv_lora_rank") is not None:
        yield config["kv_lora_rank"]
        yield config["qk_rope_head_dim"]
        return
    heads = config["num_attention_heads"]
    dim = config.get("head_dim") or config["hidden_size"] // heads
    for _ in range(config.get("num_key_value_heads") or heads):
        yield dim  # its key
        yield dim  # its value


def bytes_per_token(config):
    return sum(vectors(config)) * config["num_hidden_layers"] * config.get("bytes_per_element", 2)
