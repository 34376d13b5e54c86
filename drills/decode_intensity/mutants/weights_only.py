"""Only the weights are counted as moved, so a matrix has the intensity of its batch.

ask: Your intensity is exactly the batch. What else is read and written, and when is it as much as the weights?
expect: wrong_answer
"""

def gemm_intensity(batch, rows, cols):
    flops = 2 * batch * rows * cols
    weights, given, made = rows * cols, batch * cols, batch * rows
    return flops / (2 * weights)


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
    return flops / ((rank + rope) * 2)
