"""The rotated part beside the latent vector is left out.

ask: Which part of a key can't be rebuilt from the latent vector, because the position is in it?
expect: wrong_answer
"""

def bytes_per_token(config):
    size = config.get("bytes_per_element", 2)
    layers = config["num_hidden_layers"]
    if "kv_lora_rank" in config:
        return layers * (config["kv_lora_rank"]) * size
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads", heads)
    head_dim = config.get("head_dim", config["hidden_size"] // heads)
    return 2 * layers * kv_heads * head_dim * size
