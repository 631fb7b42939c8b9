"""Requests with the key of a server: redirects are refused, since they would send the key to another server."""

from typing import Any
from urllib.request import HTTPRedirectHandler, OpenerDirector, build_opener

KEY_VARIABLE = "REGARD_API_KEY"  # environment variable with the key


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def direct_opener() -> OpenerDirector:
    """Return an opener of URLs that takes a redirect as an error of HTTP."""
    return build_opener(_NoRedirects)
