"""Answers the first call before it is asked, while loading.

expect: malformed
"""

import os

import msgspec

FORGED = msgspec.msgpack.encode({"\x00kind": "returned", "id": 1, "value": []})
for descriptor in range(3, 256):
    try:
        os.write(descriptor, len(FORGED).to_bytes(4, "big") + FORGED)
    except OSError:
        pass


def run(x):
    return ["forged"]
