"""Web addresses, origins of websites, and loopback addresses."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

ORIGIN_PATTERN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")
"""An origin as browsers send it: without a path, in lower case."""


def safe_url(url: str | None) -> str | None:
    """Return the address if a page may link to it (http or https), else None."""
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


def parse_url(text: str) -> str:
    """Return a web address."""
    if safe_url(text) is None or "//" not in text:
        raise ValueError(f"{text!r}: expected an address such as https://example.org")
    return text


def parse_origin(text: str) -> str:
    """Return the origin of a website."""
    if not ORIGIN_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is not an origin; expected one such as https://forum.example, without a path")
    return text
