"""One case for each fault that the writer could think of."""


def case(q_len, kv_len, data, tolerance=3e-5):
    return {"q_len": q_len, "kv_len": kv_len, "data": data, "tolerance": tolerance}


def cases():
    return [
        case(2, 32, "rising"),  # the maximum rises in the second tile
        case(2, 32, "negative"),  # tiles whose maximum is about the same
        case(2, 32, "falling"),  # the second tile is lower
        case(1, 48, "spike"),  # an exponential that overflows, in a middle tile
        case(1, 31, "negative"),  # lanes past the end weigh more than keys
        case(1, 17, "negative"),  # one key past a tile
        case(16, 17, "normal"),  # weights of all sizes
        case(33, 16, "normal"),  # several tiles of queries, the last with one
        case(1, 161, "negative", 1e-5),  # more tiles than anyone would write out
        case(4, 64, "constant", 1e-5),  # equal scores
    ]
