"""One formula a function; the quotient is rounded up with integers."""


def heads(config):
    query = config["num_attention_heads"]
    kv = config.get("num_key_value_heads", query)
    return query, kv, config.get("head_dim", config["hidden_size"] // query)


def matmul_flops(config):
    hidden = config["hidden_size"]
    query, kv, dim = heads(config)
    attention = 2 * hidden * query * dim + 2 * hidden * kv * dim
    feed_forward = 3 * hidden * config["intermediate_size"]
    weights = config["num_hidden_layers"] * (attention + feed_forward) + hidden * config["vocab_size"]
    return 2 * weights


def attention_flops(config, context):
    query, _, dim = heads(config)
    return 4 * context * query * dim * config["num_hidden_layers"]


def break_even_context(config):
    return -(-matmul_flops(config) // attention_flops(config, 1))
