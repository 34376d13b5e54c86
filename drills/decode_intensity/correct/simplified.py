"""What is left when everything that can be cancelled is: harmonic sums and ratios of heads."""


def gemm_intensity(batch, rows, cols):
    return 1 / (1 / batch + 1 / rows + 1 / cols)


def attention_intensity(config):
    query = config["num_attention_heads"]
    group = query / config.get("num_key_value_heads", query)
    return 2 * group / config.get("bytes_per_element", 2)


def mla_intensity(config):
    rank = config["kv_lora_rank"]
    return config["num_attention_heads"] * (1 + rank / (rank + config["qk_rope_head_dim"]))
