"""Latent attention is counted for the KV heads of the configuration.

ask: Which heads share the latent vector? Does latent attention have KV heads at all?
expect: wrong_answer
"""


def gemm_intensity(batch, rows, cols):
    flops = 2 * batch * rows * cols
    weights, given, made = rows * cols, batch * cols, batch * rows
    return flops / (2 * (weights + given + made))


def attention_intensity(config):
    query = config["num_attention_heads"]
    kv = config.get("num_key_value_heads", query)
    dim = config.get("head_dim", config["hidden_size"] // query)
    flops = 4 * query * dim
    read = 2 * kv * dim * config.get("bytes_per_element", 2)
    return flops / read


def mla_intensity(config):
    rank, rope = config["kv_lora_rank"], config["qk_rope_head_dim"]
    heads = config.get("num_key_value_heads", config["num_attention_heads"])
    flops = 2 * heads * ((rank + rope) + rank)
    return flops / ((rank + rope) * 2)
