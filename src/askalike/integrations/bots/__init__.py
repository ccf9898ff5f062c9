"""Bots for chats: one file a product, one bot for all of them. Slack and Discord need the extra `bots`."""

from importlib import import_module
from typing import TYPE_CHECKING, Literal

from askalike import service

if TYPE_CHECKING:
    from askalike.integrations.bots.chat import Chat

Product = Literal["zulip", "slack", "discord"]


def require_extra(product: Product) -> None:
    """Raise SettingsError, which names the extra, if a product needs websockets and the library is missing."""
    if product != "zulip":
        service.require_extra(f"bot {product}", "bots", ("websockets",))


def chat_class(product: Product) -> "type[Chat]":
    """Return the subclass of `Chat` in a product's file."""
    return getattr(import_module(f"{__name__}.{product}"), f"{product.title()}Chat")  # type: ignore[no-any-return]
