"""What shows that a form is one of ours: a token that goes with a cookie, and the browser's own word on where it is."""

import hashlib
import hmac
import secrets
from urllib.parse import urlsplit

from fastapi import HTTPException, Request, Response

from askalike.service.settings import ServiceSettings

FIELD, HEADER = "csrf", "x-csrf"


def visitor(request: Request) -> str:
    """The secret of this browser's cookie, or a fresh one."""
    return request.cookies.get(_name(request)) or fresh()


def fresh() -> str:
    """A new secret."""
    return secrets.token_urlsafe(32)


def of(secret: str) -> str:
    """The token that goes with a secret, for forms."""
    return hashlib.blake2b(secret.encode(errors="replace"), digest_size=24, person=b"form").hexdigest()


def remember(request: Request, response: Response, secret: str) -> None:
    """Gives the browser the secret where it has none."""
    if _name(request) not in request.cookies:
        renew(request, response, secret)


def renew(request: Request, response: Response, secret: str) -> None:
    """Gives the browser another secret: forms that it has open are good for nothing then."""
    response.set_cookie(_name(request), secret, httponly=True, secure=secure(request), samesite="lax")


def check(request: Request, shown: str) -> None:
    """Raises HTTPException (403) unless the request comes from one of our pages, in this browser."""
    if _from_elsewhere(request):
        raise HTTPException(403, "this form comes from another site; open the page here and send it again")
    secret = request.cookies.get(_name(request), "")
    if not secret or not hmac.compare_digest(of(secret).encode(), shown.encode(errors="replace")):
        raise HTTPException(403, "this form is no longer good; load the page anew and send it again")


def _from_elsewhere(request: Request) -> bool:
    """What the browser says of the page that a form comes from."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("origin")
    try:
        return origin is not None and urlsplit(origin).netloc.lower() != _host(request)
    except ValueError:
        return True


def secure(request: Request) -> bool:
    """Whether people reach the service by https, so that cookies are to go no other way."""
    return (_settings(request).public_url or "").startswith("https:")


def _host(request: Request) -> str:
    public = _settings(request).public_url
    return urlsplit(public).netloc.lower() if public else request.headers.get("host", "").lower()


def _name(request: Request) -> str:
    return "__Host-visitor" if secure(request) else "visitor"


def _settings(request: Request) -> ServiceSettings:
    settings: ServiceSettings = request.app.state.settings
    return settings
