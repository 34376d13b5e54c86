"""Defaults filled in first, then plain products; divmod says whether the quotient was whole."""


def filled(config):
    full = dict(config)
    full.setdefault("num_key_value_heads", full["num_attention_heads"])
    full.setdefault("head_dim", full["hidden_size"] // full["num_attention_heads"])
    return full


def matmul_flops(config):
    c = filled(config)
    rows = 2 * c["head_dim"] * (c["num_attention_heads"] + c["num_key_value_heads"]) + 3 * c["intermediate_size"]
    return 2 * c["hidden_size"] * (rows * c["num_hidden_layers"] + c["vocab_size"])


def attention_flops(config, context):
    c = filled(config)
    return 4 * context * c["num_attention_heads"] * c["head_dim"] * c["num_hidden_layers"]


def break_even_context(config):
    whole, rest = divmod(matmul_flops(config), attention_flops(config, 1))
    return whole + (rest > 0)
