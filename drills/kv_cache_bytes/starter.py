"""Bytes of KV cache per token: right where every query head has keys and values of its own, in 2-byte numbers."""


def bytes_per_token(config):
    return 2 * config["num_hidden_layers"] * config["hidden_size"] * 2
