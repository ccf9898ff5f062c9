"""The command `askalike bot`. Only askalike imports this file: the rest does without it."""

from askalike.plugin import Command

COMMAND = Command(
    "Serve",
    "Answer each new thread of a chat once, with earlier questions, if one of them likely asks the same.",
    "askalike_chat.command:bot_command",
)
