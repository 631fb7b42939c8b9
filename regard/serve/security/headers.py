"""What every answer says to a browser."""

import secrets

PLAIN = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"  # for all that is no page
ALONE = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"  # for a page that brings a policy of its own


def new_nonce() -> str:
    """What the scripts and styles of one answer are known by."""
    return secrets.token_urlsafe(18)


def page_policy(nonce: str) -> str:
    """Only scripts and styles with this nonce; requests to this server alone."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
