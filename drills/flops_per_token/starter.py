"""FLOPs per token: two for every parameter, the embedding table among them, and all heads alike."""


def parameters(config):
    hidden = config["hidden_size"]
    layer = 4 * hidden * hidden + 3 * hidden * config["intermediate_size"]
    return config["num_hidden_layers"] * layer + 2 * config["vocab_size"] * hidden


def matmul_flops(config):
    return 2 * parameters(config)


def attention_flops(config, context):
    return 4 * context * config["hidden_size"] * config["num_hidden_layers"]


def break_even_context(config):
    return matmul_flops(config) // attention_flops(config, 1)
