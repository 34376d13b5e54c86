"""Intensity of decode operations: rules of thumb, each right in one corner."""


def gemm_intensity(batch, rows, cols):
    return float(batch)


def attention_intensity(config):
    return 1.0


def mla_intensity(config):
    return 2.0 * config["num_attention_heads"]
