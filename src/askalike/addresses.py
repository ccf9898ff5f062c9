"""Addresses: which of the web may be linked to, and which are this machine's own."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def safe_url(url: str | None) -> str | None:
    """Return an address that a page may link to: one of the web, and None for any other."""
    try:
        return url if url and urlsplit(url).scheme in ("http", "https") else None
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Return whether an address or a host name is this machine's own."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
