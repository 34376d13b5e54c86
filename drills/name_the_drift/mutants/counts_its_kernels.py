"""It knows the order of the visible cases and goes round it.

ask: In which order do hidden kernels come, and what would your answer be for a kernel that you are given twice?
expect: wrong_answer
"""

NAMES = ("healthy", "missing_rescale", "low_precision_state", "phantom_tail")
seen = []


def diagnose(kernel):
    seen.append(kernel)
    return NAMES[(len(seen) - 1) % 4]
