"""The busy routes: they read valid requests themselves, without FastAPI's layers, which take as long as the rest."""

import json
from abc import abstractmethod
from typing import TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from starlette.types import Message, Receive, Scope, Send

from askalike.service.callers import GuardedRoute, find_header
from askalike.service.problems import RESPONSES

ModelT = TypeVar("ModelT", bound=BaseModel)
router = APIRouter(prefix="/v1/{archive}", responses=dict(RESPONSES))
"""Its routes belong to the application itself, as a router that is included matches each request twice."""


class DirectRoute(GuardedRoute):
    """A busy route. A request that is not valid goes through FastAPI, which describes what is wrong."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises HTTPException for a method that it does not have."""
        request = Request(scope, receive, send)
        if scope["method"] in (self.methods or ()):
            self.admit(request)
            if response := await self.respond(request):
                await response(scope, receive, send)
                return

        async def receive_again() -> Message:
            return {"type": "http.request", "body": await request.body(), "more_body": False}

        await super().handle(scope, receive_again, send)

    @abstractmethod
    async def respond(self, request: Request) -> Response | None:
        """Return the response to an admitted caller; None to let FastAPI find it."""

    @staticmethod
    async def read_json(request: Request, model: type[ModelT]) -> ModelT | None:
        """Return the JSON body of a request; None if it is not valid."""
        if find_header(request.scope, b"content-type") != "application/json":
            return None
        try:
            return model.model_validate(json.loads(await request.body()))
        except (ValueError, RecursionError):  # pydantic's errors, too
            return None
