"""Looks for a way out over the network.

expect: returned
"""

import socket


def run(x):
    found = []
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_PACKET, socket.AF_NETLINK, socket.AF_VSOCK):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            try:
                socket.socket(family, kind).close()
                found.append([int(family), int(kind)])
            except OSError:
                pass
    for name in ("\0tilewright-runner-61000", "/run/docker.sock", "/var/run/postgresql/.s.PGSQL.5432"):
        try:
            socket.socket(socket.AF_UNIX).connect(name)
            found.append(name)
        except OSError:
            pass
    return found
