"""An empty suite: it refuses nothing.

ask: What does a suite without cases say of a kernel that returns NaN?
expect: wrong_answer
"""

def cases():
    return []
