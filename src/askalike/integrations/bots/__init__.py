"""Bots for chats: one file a product, one bot for all of them. Slack and Discord need the extra `bots`."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from askalike.core.errors import SettingsError

if TYPE_CHECKING:
    from askalike.integrations.bots.chat import Chat

Product = Literal["zulip", "slack", "discord"]


def require_extra(product: Product) -> None:
    """Raise SettingsError, which names the extra, if a product needs websockets and the library is missing."""
    if product != "zulip" and find_spec("websockets") is None:
        raise SettingsError(
            f"askalike bot {product} needs websockets, not installed here; run: pip install 'askalike[bots]'"
        )


def chat_class(product: Product) -> "type[Chat]":
    """Return the subclass of `Chat` in a product's file."""
    return getattr(import_module(f"{__name__}.{product}"), f"{product.title()}Chat")  # type: ignore[no-any-return]
