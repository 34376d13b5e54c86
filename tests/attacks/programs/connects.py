"""Opens a connection and does not expect to be stopped.

expect: raised
"""

import socket


def run(x):
    socket.create_connection(("1.1.1.1", 80), timeout=1)
    return ["connected"]
