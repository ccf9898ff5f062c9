"""A polite client of a site: one request at a time, retries after temporary errors, responses cached on disk."""

import hashlib
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from askalike.core.errors import InputError
from askalike.core.files import write_atomically
from askalike.core.network import fetch

MAX_RESPONSE_BYTES = 1 << 26
MAX_TRIES = 5
PASSING_STATUSES = (408, 425, 429, 500, 502, 503, 504)
MAX_WAIT_SECONDS = 60.0


def read_address(path: Path) -> str | None:
    """Return the address that a path stands for, in which a Path collapses the two slashes; None if it is a file's."""
    match = re.match(r"(https?):/+(?=[^/])", str(path))
    return f"{match[1]}://{str(path)[match.end() :]}" if match else None


class SiteClient:
    """Requests JSON, or texts, from one site. Responses to requests with a version are cached."""

    def __init__(
        self, address: str, folder: Path, pause: float, timeout: float, sleep: Callable[[float], None] = time.sleep,
        parse: Callable[[bytes], Any] = json.loads, accept: str = "application/json",
    ) -> None:  # fmt: skip
        """folder: the cache of responses. pause: seconds between two requests. timeout: seconds per request.

        parse: turns a response into a JSON value, such as a text; ValueError or LookupError if it is not what was
        expected. accept: the media type to ask for.
        """
        self._parse, self._accept = parse, accept
        self.address = address.rstrip("/")
        self._folder, self._pause, self._timeout, self._sleep = folder, pause, timeout, sleep

    @property
    def host(self) -> str:
        """The site's host, with its port if it is not the default one."""
        return urlsplit(self.address).netloc

    def get(self, path: str, version: str | None = None, max_bytes: int = MAX_RESPONSE_BYTES) -> Any:
        """Return the value at a path of the site, None if it does not exist (404).

        version: changes whenever the response may change; a cached response with the same version is reused. Raises
        InputError, also for a response of more than `max_bytes`.
        """
        if version is None:
            return self._fetch(path, max_bytes)
        name = hashlib.blake2b(f"{self.address}{path}\n{version}".encode(), digest_size=16).hexdigest()
        stored = self._folder / name[:2] / f"{name}.json"
        try:
            return json.loads(stored.read_bytes())
        except (OSError, ValueError, RecursionError):
            value = self._fetch(path, max_bytes)
        if value is not None:
            try:
                stored.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(stored, json.dumps(value))  # ASCII: a text may hold a lone surrogate
            except OSError as error:
                advice = "free some space, or name another folder with --responses"
                raise InputError(f"{self._folder}: cannot be written ({error.strerror}); {advice}") from None
        return value

    def _fetch(self, path: str, max_bytes: int) -> Any:
        problem, wait = "", self._pause
        for n in range(1, MAX_TRIES + 1):
            self._sleep(wait)
            wait = min(2.0**n, MAX_WAIT_SECONDS)
            try:
                return self._fetch_once(path, max_bytes)
            except urllib.error.HTTPError as error:
                if error.code == 404:
                    return None
                problem = f"answered {error.code} {error.reason}"
                if error.code not in PASSING_STATUSES:
                    break
                with_header = error.headers.get("Retry-After", "")
                wait += min(float(with_header), MAX_WAIT_SECONDS) if with_header.isdecimal() else 0.0
            except (OSError, HTTPException) as error:
                problem = f"does not answer ({error})"
            except ValueError as error:
                problem = str(error)
                break
        raise InputError(
            f"{self.address}{path}: {problem}; fetched responses are kept; a repeated import resumes there"
        )

    def _fetch_once(self, path: str, max_bytes: int) -> Any:
        """Return the value at a path. Raises OSError, HTTPException, or ValueError with the reason if it is invalid."""
        headers = {"Accept": self._accept, "User-Agent": "askalike"}
        request = urllib.request.Request(f"{self.address}{path}", headers=headers)
        content = fetch(request, self._timeout, max_bytes)
        try:
            return self._parse(content)
        except (ValueError, LookupError, RecursionError):
            expected = "JSON" if self._parse is json.loads else "a text in the encoding that it names"
            raise ValueError(f"its answer is not {expected}") from None
