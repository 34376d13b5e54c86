"""The latent vector is taken to have elements of `bytes_per_element`.

ask: Which of the three functions does the size of an element belong to?
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
    flops = 2 * config["num_attention_heads"] * ((rank + rope) + rank)
    return flops / ((rank + rope) * config.get("bytes_per_element", 2))
