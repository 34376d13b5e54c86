"""Never finishes loading.

expect: time_limit
"""

while True:
    pass
