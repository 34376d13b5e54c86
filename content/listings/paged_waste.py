"""Memory that a KV cache reserves and does not use, by how it is allocated.

10,000 sequences caught at a random moment: prompts and answers have log-normal lengths, the model allows 8,192
tokens, and each sequence has generated a uniform share of its answer. Used is the share of the reserved tokens that
hold a key and a value; the last column is how many sequences fit where one with reservation to the maximum fits.
"""

import numpy as np

LIMIT, SEQUENCES = 8192, 10_000


def blocks(size):
    return lambda now, end: np.ceil(now / size) * size


POLICIES = {
    "the limit for each": lambda now, end: np.full(len(now), float(LIMIT)),
    "a power of two": lambda now, end: 2 ** np.ceil(np.log2(end)),
    "exactly what it will need": lambda now, end: end.astype(float),
    "blocks of 256": blocks(256),
    "blocks of 64": blocks(64),
    "blocks of 16": blocks(16),
    "blocks of 1": blocks(1),
}

if __name__ == "__main__":
    rng = np.random.default_rng(4)
    prompt = np.clip(rng.lognormal(np.log(600), 0.9, SEQUENCES), 8, 6000).astype(int)
    answer = np.clip(rng.lognormal(np.log(250), 0.8, SEQUENCES), 1, LIMIT - prompt).astype(int)
    now = prompt + np.ceil(answer * rng.random(SEQUENCES)).astype(int)
    print("reserved", "tokens a sequence", "used", "sequences", sep=",")
    for name, policy in POLICIES.items():
        reserved = policy(now, prompt + answer)
        each, used = reserved.mean(), now.sum() / reserved.sum()
        print(name, f"{each:.0f}", f"{used:.1%}", f"{LIMIT / each:.1f}", sep=",")
