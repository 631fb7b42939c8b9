"""GET /metrics, where it is wanted."""

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from regard.serve.api.documented import refusals
from regard.serve.errors import ApiError
from regard.serve.security.keys import same_secret
from regard.serve.service import Service


def router(service: Service) -> APIRouter:
    """The endpoint."""
    routes = APIRouter(tags=["operation"])

    @routes.get("/metrics", response_class=Response, responses=refusals(401))
    async def metrics(request: Request) -> Response:
        """Everything that is measured, for Prometheus."""
        token = service.settings.metrics_auth_token
        if token and not same_secret(request.headers.get("authorization", ""), f"Bearer {token}"):
            raise ApiError(401, "Unauthorized", {"WWW-Authenticate": "Bearer"})
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return routes
