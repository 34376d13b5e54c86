"""Acceptance of 64 GPUs in 8 nodes, simulated: which test finds which fault, and by which comparison.

A matrix product (TFLOP/s) and a memory copy (TB/s) are measured on each GPU in hour 1 and in hour 48.
Siblings spread by 0.6 and 0.3 parts in 100. GPU 11 has a poor thermal joint: 5 parts slow once it is
hot. GPU 37 has lost 4 parts of its bandwidth. GPUs 50 to 54, in node 6, get warm air and lose 2 parts
when hot. `floor passed` counts GPUs above 60 parts in 100 of the data sheet. `z` is the lowest GPU's
distance from the mean in standard deviations, `robust z` that from the median in scaled median
deviations; flagged are GPUs below a robust z of -4, and nodes whose median is that far off for a median
of 8.
"""

import numpy as np

GPUS, NODE, LIMIT = 64, 8, -4


def measure(rng, hour):
    gemm = 712 * (1 + 0.006 * rng.standard_normal(GPUS))
    copy = 3.02 * (1 + 0.003 * rng.standard_normal(GPUS))
    copy[37] *= 0.96
    if hour > 1:
        gemm[11] *= 0.95
        gemm[50:55] *= 0.98
    return {"matrix product": (gemm, 989.4), "memory copy": (copy, 3.35)}


def robust(values):
    """Distance from the median in units that equal a standard deviation for normal values."""
    centre = np.median(values)
    return (values - centre) / (1.4826 * np.median(np.abs(values - centre)))


def nodes(values):
    """As `robust`, for the median of each node; the median of 8 spreads 1.25 / sqrt(8) as much as one value."""
    return np.median(robust(values).reshape(-1, NODE), axis=1) / (1.2533 / np.sqrt(NODE))


def named(scores):
    return " ".join(str(index) for index in np.flatnonzero(scores < LIMIT)) or "none"


if __name__ == "__main__":
    rng = np.random.default_rng(2)
    print("test", "median", "lowest", "floor passed", "z", "robust z", "GPUs flagged", "nodes flagged", sep=",")
    for hour in (1, 48):
        for name, (values, sheet) in measure(rng, hour).items():
            z = (values.min() - values.mean()) / values.std()
            passed = (values > 0.6 * sheet).sum()
            row = [f"{np.median(values):.4g}", f"{values.min():.4g}", passed, f"{z:.1f}"]
            row.append(f"{robust(values).min():.1f}")
            print(f"{name} hour {hour}", *row, named(robust(values)), named(nodes(values)), sep=",")
