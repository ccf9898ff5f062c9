"""Forms that our pages send, and CSRF protection: a token that matches a cookie, and a check of the origin."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from askalike.service.authorization import is_cross_site
from askalike.service.request_state import app_state

MAX_FORM_FIELDS = 1_000
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf"
ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent from one of our pages."""

    fields: dict[str, list[str]]

    def value(self, name: str) -> str:
        """Return a field's last value; "" if it has none."""
        return self.fields.get(name, [""])[-1]

    def values(self, name: str) -> list[str]:
        """Return all values of a field."""
        return self.fields.get(name, [])

    def lines(self, name: str) -> list[str]:
        """Return the lines of a field without space around them, except empty ones."""
        return [line for line in map(str.strip, self.value(name).splitlines()) if line]


def normalise_text(text: str) -> str:
    """Return a text as it is compared: browsers change line ends, and may drop a first empty line."""
    return text.replace("\r\n", "\n").strip()


def validate_form(model: type[ModelT], values: Mapping[str, Any]) -> ModelT:
    """Return the values as an object of the model. Raises RequestValidationError."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError([{**e, "loc": ("form", *e["loc"])} for e in error.errors()]) from None


def get_visitor_secret(request: Request) -> str:
    """Return the secret in this browser's cookie, or the new one that this response sets."""
    if not hasattr(request.state, "visitor_secret"):
        request.state.visitor_secret = request.cookies.get(_cookie_name(request)) or create_secret()
    return str(request.state.visitor_secret)


def create_secret() -> str:
    """Return a new secret of 256 random bits."""
    return secrets.token_urlsafe(32)


def csrf_token(secret: str) -> str:
    """Return the token for forms that matches a secret."""
    return hashlib.blake2b(secret.encode(errors="replace"), digest_size=24, person=b"form").hexdigest()


def remember_secret(request: Request, response: Response, secret: str) -> None:
    """Set the cookie with the secret if the browser has none."""
    if _cookie_name(request) not in request.cookies:
        renew_secret(request, response, secret)


def renew_secret(request: Request, response: Response, secret: str) -> None:
    """Set a cookie with another secret, so that forms that are open in the browser are no longer accepted."""
    response.set_cookie(_cookie_name(request), secret, httponly=True, secure=is_https(request), samesite="lax")


def is_https(request: Request) -> bool:
    """Return whether the service is reached by https, so that cookies must be sent only by https."""
    return (app_state(request).settings.public_url or "").startswith("https:")


async def _parse_form(request: Request) -> Form:
    """Return the form. Raises HTTPException (403) unless it comes from one of our pages, in this browser."""
    text = (await request.body()).decode(errors="replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise HTTPException(422, f"body: expected a form of at most {MAX_FORM_FIELDS} fields") from None
    form = Form(fields)
    if is_cross_site(request):
        raise HTTPException(403, "this form was sent from another site; open the page here and send it again")
    secret = request.cookies.get(_cookie_name(request), "")
    token = request.headers.get(CSRF_HEADER) or form.value(CSRF_FIELD)
    if not secret or not hmac.compare_digest(csrf_token(secret).encode(), token.encode(errors="replace")):
        raise HTTPException(403, "this form has expired; reload the page and send it again")
    return form


def _cookie_name(request: Request) -> str:
    return "__Host-visitor" if is_https(request) else "visitor"


SubmittedForm = Annotated[Form, Depends(_parse_form)]
