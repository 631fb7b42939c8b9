"""One question in every kind of body that LibreTranslate reads."""

KINDS = ("json", "form", "multipart", "query")
HELLO = {"q": "Hello", "source": "en", "target": "de"}


def ask(client, path, fields, kind, **headers):
    bodies = {
        "json": {"json": fields},
        "form": {"data": fields},
        "multipart": {"files": {name: (None, str(value)) for name, value in fields.items()}},
        "query": {"params": fields},
    }
    return client.post(path, headers=headers, **bodies[kind])


def plain(response):
    return response.status_code, response.json()
