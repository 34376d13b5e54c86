"""Never returns.

expect: time_limit
"""


def run(x):
    while True:
        pass
