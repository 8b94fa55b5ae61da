"""An application of exactly these routes; what fails in it is reported, and told to nobody outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route


def application(routes: Sequence[Route], failed: Callable[[BaseException], None]) -> Starlette:
    """`failed` hears of every exception that a route did not expect; the answer is 500, and says no more."""

    async def report(_: Request, error: Exception) -> Response:
        failed(error)
        return PlainTextResponse("error\n", 500)

    app = Starlette(routes=routes, exception_handlers={Exception: report})
    app.router.redirect_slashes = False
    return app
