"""The socket that the service answers on, taken before anything else is done."""

from __future__ import annotations

import errno
import socket
from typing import Final

BACKLOG: Final = 2048
"""Connections that wait while all processes are busy, or while the first one starts."""

BUFFER: Final = 128 * 1024
"""Bytes that the kernel may hold of a connection in each direction. Left to itself it takes megabytes for a peer that
does
not read, or sends more than is read. Linux takes twice the value."""

_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class AddressUnavailable(ValueError):
    """The service can't listen where it was asked to."""


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address.

    Parameters
    ----------
    host : str
        Name or address; of a name with several addresses the first.
    port : int
        0 for a free one.

    Raises
    ------
    AddressUnavailable
        If the port is taken, or the address is none of this machine.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        reason = "the port is taken" if error.errno == errno.EADDRINUSE else error.strerror
        raise AddressUnavailable(f"can't listen on {host} port {port}: {reason}") from None
    for direction in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        listener.setsockopt(socket.SOL_SOCKET, direction, BUFFER)  # which its connections inherit
    return listener


def base_url(listener: socket.socket) -> str:
    """The URL under which a client on this machine reaches a socket."""
    host, port = listener.getsockname()[:2]
    host = _EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
