"""Every matrix with its two sizes in a table; the break-even is walked up to from the whole quotient."""


def attention_width(config, heads):
    dim = config["head_dim"] if "head_dim" in config else config["hidden_size"] // config["num_attention_heads"]
    return config.get(heads, config["num_attention_heads"]) * dim


def matrices(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    q = attention_width(config, "num_attention_heads")
    kv = attention_width(config, "num_key_value_heads")
    for _ in range(config["num_hidden_layers"]):
        yield from [(hidden, q), (hidden, kv), (hidden, kv), (q, hidden)]
        yield from [(hidden, inner), (hidden, inner), (inner, hidden)]
    yield hidden, config["vocab_size"]


def matmul_flops(config):
    return sum(2 * m * n for m, n in matrices(config))


def attention_flops(config, context):
    scores = 2 * context * attention_width(config, "num_attention_heads")
    return 2 * scores * config["num_hidden_layers"]


def break_even_context(config):
    context = matmul_flops(config) // attention_flops(config, 1)
    while attention_flops(config, context) < matmul_flops(config):
        context += 1
    return context
