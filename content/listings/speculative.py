"""What the acceptance rule of speculative decoding returns, computed exactly over a vocabulary of eight.

p is the target's distribution, q the draft's. Each rule is given as the distribution of the token that it emits at
the first position; its distance from p is the total variation, half the sum of absolute differences.
"""

import numpy as np

TARGET = np.array([0.40, 0.20, 0.12, 0.10, 0.08, 0.05, 0.03, 0.02])
DRAFTS = {
    "same as target": TARGET,
    "a little off": np.array([0.46, 0.16, 0.14, 0.08, 0.06, 0.05, 0.03, 0.02]),
    "too sure": np.array([0.82, 0.10, 0.03, 0.02, 0.01, 0.01, 0.005, 0.005]),
    "another favourite": np.array([0.10, 0.50, 0.10, 0.10, 0.05, 0.05, 0.05, 0.05]),
}


def right(p, q):
    """Accept with min(1, p/q); after a rejection draw from the positive part of p − q."""
    kept = np.minimum(p, q)
    rest = np.maximum(p - q, 0)
    return kept + (1 - kept.sum()) * (rest / rest.sum() if rest.sum() else rest)


def from_target(p, q):
    """As `right`, but after a rejection draw from p."""
    kept = np.minimum(p, q)
    return kept + (1 - kept.sum()) * p


def by_argmax(p, q):
    """Accept a draft token only if it is the target's most likely one, else emit that one."""
    return np.eye(len(p))[p.argmax()]


def other_temperature(p, q):
    """The draft samples at temperature 0.7, the test uses its probabilities at temperature 1."""
    sampled = q ** (1 / 0.7) / (q ** (1 / 0.7)).sum()
    accept = np.minimum(1, p / q)
    rest = np.maximum(p - q, 0)
    missed = 1 - (sampled * accept).sum()
    return sampled * accept + missed * (rest / rest.sum() if rest.sum() else p)


RULES = {
    "right rule": right,
    "redraw from p": from_target,
    "argmax match": by_argmax,
    "draft at another temperature": other_temperature,
}

if __name__ == "__main__":
    print("draft", "acceptance", *RULES, sep=",")
    for name, draft in DRAFTS.items():
        distances = [np.abs(rule(TARGET, draft) - TARGET).sum() / 2 for rule in RULES.values()]
        shown = [f"{distance:.2f}" if distance > 1e-12 else "0" for distance in distances]
        print(name, f"{np.minimum(TARGET, draft).sum():.2f}", *shown, sep=",")
