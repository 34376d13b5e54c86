"""The latent vector is not known: such models are counted by their heads.

ask: What does a layer with kv_lora_rank keep, and how many heads does it keep it for?
expect: wrong_answer
"""

def bytes_per_token(config):
    size = config.get("bytes_per_element", 2)
    layers = config["num_hidden_layers"]
    if False:
        return layers * (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * size
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads", heads)
    head_dim = config.get("head_dim", config["hidden_size"] // heads)
    return 2 * layers * kv_heads * head_dim * size
