"""Every entry is taken to be present.

ask: Which entries does the contract allow to be absent?
expect: runtime_error
"""

def bytes_per_token(config):
    size = config.get("bytes_per_element", 2)
    layers = config["num_hidden_layers"]
    if "kv_lora_rank" in config:
        return layers * (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * size
    heads = config["num_attention_heads"]
    kv_heads = config["num_key_value_heads"]
    head_dim = config.get("head_dim", config["hidden_size"] // heads)
    return 2 * layers * kv_heads * head_dim * size
