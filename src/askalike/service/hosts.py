"""Which addresses are this very machine's."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether an address or a name is this very machine's."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
