"""The socket that a server listens on, and its address."""

import socket

from askalike.core.errors import SettingsError

BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 means any free port. Raises SettingsError if that is impossible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]  # Python adds the address
        place = _describe_address(host, port)
        raise SettingsError(f"cannot listen at {place}: {reason}; choose another --host or --port") from None


def base_url(listener: socket.socket) -> str:
    """Return the address at which a browser reaches a server."""
    host, port = listener.getsockname()[:2]
    return f"http://{_describe_address(host, port)}"


def _describe_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
