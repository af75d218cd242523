"""Pages that need no credentials."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from scoring_model.service.http.context import context_of
from scoring_model.service.http.errors import MethodNotAllowed, allow

DESCRIPTION: Final = "/openapi.json"
"""Path of the API reference for programs."""


class PublicPage:
    """ASGI application of a page that anybody may read. Queries, which load balancers like to add, are ignored.

    Parameters
    ----------
    path : str
    answer : callable
        Gives the response, from the connection scope.
    """

    def __init__(self, path: str, answer: Callable[[Scope], Awaitable[Response]]) -> None:
        self.path = path
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises
        ------
        MethodNotAllowed
            Unless it is GET or HEAD.
        """
        context = context_of(scope)
        context.route = self.path
        if context.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(allow({"GET"}))
        response = await self._answer(scope)
        await response(scope, receive, send)
