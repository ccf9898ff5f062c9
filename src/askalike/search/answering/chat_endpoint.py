"""An endpoint for OpenAI's chat completions, configured by the operator: messages in, a text out."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException

from askalike.core.addresses import safe_url
from askalike.core.errors import AskalikeError, SettingsError
from askalike.core.fetching import fetch

KEY_VARIABLE = "ASKALIKE_ENDPOINT_KEY"
"""The environment variable for the endpoint's key."""
DEFAULT_TIMEOUT_S = 60.0
MAX_RESPONSE_BYTES = 1 << 20


class EndpointError(AskalikeError):
    """The endpoint does not answer in time, or its answer cannot be read."""


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """The address of a model (`…/v1`, as for OpenAI's clients) and its settings. timeout_s: for a whole response.

    Raises SettingsError.
    """

    url: str
    model: str
    key: str = ""
    timeout_s: float = DEFAULT_TIMEOUT_S

    def __post_init__(self) -> None:
        if safe_url(self.url) is None:
            raise SettingsError(f"endpoint {self.url!r}: expected an address such as http://127.0.0.1:11434/v1")
        if not self.model:
            raise SettingsError("the endpoint has no model; name one")

    def complete(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return the model's text. Raises EndpointError."""
        body = {"model": self.model, "messages": list(messages), "temperature": 0, "stream": False}
        headers = {"Content-Type": "application/json", "User-Agent": "askalike"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        try:
            choice = json.loads(fetch(request, self.timeout_s, MAX_RESPONSE_BYTES))["choices"][0]
            text, complete = choice["message"]["content"], choice.get("finish_reason") in (None, "stop")
        except urllib.error.HTTPError as error:
            error.close()
            raise EndpointError(f"{address}: answered {error.code} {error.reason}") from None
        except TimeoutError:
            raise EndpointError(f"{address}: sent no complete answer within {self.timeout_s:g} s") from None
        except (OSError, HTTPException) as error:
            raise EndpointError(f"{address}: does not answer ({error})") from None
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            raise EndpointError(f"{address}: the answer is not a chat completion; expected OpenAI's format") from None
        if not isinstance(text, str):
            raise EndpointError(f"{address}: the answer has no text")
        return text if complete else _without_last_line(text)


def named_endpoint(url: str | None, model: str | None, timeout_s: float = DEFAULT_TIMEOUT_S) -> ChatEndpoint:
    """Return the operator's endpoint, with the key from the environment. Raises SettingsError if there is none."""
    if url is None or model is None:
        raise SettingsError("grounded: name the endpoint: --endpoint http://127.0.0.1:11434/v1 --model NAME")
    return ChatEndpoint(url, model, os.environ.get(KEY_VARIABLE, ""), timeout_s)


def _without_last_line(text: str) -> str:
    """Return a truncated text without its incomplete last sentence."""
    end = max(text.rfind(sign) for sign in ".!?]\n")
    return text[: end + 1]
