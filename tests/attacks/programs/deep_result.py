"""Returns a list inside a list inside a list, without end.

expect: returned
value: any
"""


def run(x):
    value = []
    value.append(value)
    return value
