"""A text that says it is equal to any other.

expect: wrong_answer
"""


class Anything(str):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def diagnose(kernel):
    return Anything("healthy")
