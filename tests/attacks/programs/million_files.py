"""Makes a million empty files.

expect: time_limit | out_of_memory | raised
"""


def run(x):
    for number in range(10**6):
        with open(f"/tmp/{number}", "wb"):
            pass
    return []
