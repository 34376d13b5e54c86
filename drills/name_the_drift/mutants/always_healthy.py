"""It never calls the kernel.

ask: What would you have to see to say that this kernel is not healthy?
expect: wrong_answer
"""

def diagnose(kernel):
    return "healthy"
