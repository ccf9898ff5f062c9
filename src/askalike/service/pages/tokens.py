"""What shows that a form is one of ours: a token that goes with a cookie, and the browser's own word on where it is."""

import hashlib
import hmac
import secrets
from urllib.parse import urlsplit

from fastapi import HTTPException, Request, Response

from askalike.service.settings import ServiceSettings

CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf"


def get_visitor_secret(request: Request) -> str:
    """The secret of this browser's cookie, or a fresh one."""
    return request.cookies.get(_cookie_name(request)) or create_secret()


def create_secret() -> str:
    """A new secret."""
    return secrets.token_urlsafe(32)


def csrf_token(secret: str) -> str:
    """The token that goes with a secret, for forms."""
    return hashlib.blake2b(secret.encode(errors="replace"), digest_size=24, person=b"form").hexdigest()


def remember_secret(request: Request, response: Response, secret: str) -> None:
    """Gives the browser the secret where it has none."""
    if _cookie_name(request) not in request.cookies:
        renew_secret(request, response, secret)


def renew_secret(request: Request, response: Response, secret: str) -> None:
    """Gives the browser another secret: forms that it has open are good for nothing then."""
    response.set_cookie(_cookie_name(request), secret, httponly=True, secure=is_https(request), samesite="lax")


def verify_csrf(request: Request, token: str) -> None:
    """Raises HTTPException (403) unless the request comes from one of our pages, in this browser."""
    if _is_cross_site(request):
        raise HTTPException(403, "this form comes from another site; open the page here and send it again")
    secret = request.cookies.get(_cookie_name(request), "")
    if not secret or not hmac.compare_digest(csrf_token(secret).encode(), token.encode(errors="replace")):
        raise HTTPException(403, "this form is no longer good; load the page anew and send it again")


def _is_cross_site(request: Request) -> bool:
    """What the browser says of the page that a form comes from."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("origin")
    try:
        return origin is not None and urlsplit(origin).netloc.lower() != _host(request)
    except ValueError:
        return True


def is_https(request: Request) -> bool:
    """Whether people reach the service by https, so that cookies are to go no other way."""
    return (_settings(request).public_url or "").startswith("https:")


def _host(request: Request) -> str:
    public = _settings(request).public_url
    return urlsplit(public).netloc.lower() if public else request.headers.get("host", "").lower()


def _cookie_name(request: Request) -> str:
    return "__Host-visitor" if is_https(request) else "visitor"


def _settings(request: Request) -> ServiceSettings:
    settings: ServiceSettings = request.app.state.settings
    return settings
