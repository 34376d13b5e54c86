"""The function is passed to itself.

expect: wrong_answer
"""


def diagnose(kernel):
    for value in (kernel, {"a": kernel}, "healthy", b"x", 1 << 70, [[[]]]):
        try:
            kernel(value, value, value)
        except TypeError:
            continue
        return "taken"
    return "refused"
