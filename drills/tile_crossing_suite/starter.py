"""A test suite for attention kernels as it is often written: round lengths, everyday data, a wide tolerance."""


def cases():
    return [
        {"q_len": 16, "kv_len": 16, "data": "normal", "tolerance": 1e-2},
        {"q_len": 64, "kv_len": 64, "data": "normal", "tolerance": 1e-2},
    ]
