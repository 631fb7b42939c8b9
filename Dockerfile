# A server for models trained with Regard: CPU only, without any model or data in it.
#   docker build -t regard .
#   docker run --rm -p 127.0.0.1:5000:5000 -v ./runs/en-de:/models/en-de:ro regard /models/en-de --insecure
# --insecure: no key is asked for; -p 127.0.0.1:… above lets this machine alone in. docs/how-to/serve.md has more.

ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
# The wheels of torch without CUDA, a tenth of the others' size.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/venv/bin:$PATH
RUN python -m venv /venv
WORKDIR /regard
# The large and steady layers first: a change of Regard itself installs nothing anew but Regard.
COPY constraints.txt ./
RUN pip install --index-url "$TORCH_INDEX" "$(grep '^torch==' constraints.txt)"
COPY pyproject.toml README.md LICENSE ./
RUN mkdir regard && touch regard/__init__.py && pip install '.[serve]' -c constraints.txt && pip uninstall --yes regard
COPY regard regard
RUN pip install --no-deps . -c constraints.txt && python -m compileall -q /venv/lib

FROM python:${PYTHON}-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin regard
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 LT_HOST=0.0.0.0 LT_PORT=5000
USER 10001
# Model files are read, never written; translated files wait in /tmp.
WORKDIR /models
EXPOSE 5000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-c", \
    "import os, urllib.request as r; of = lambda name: next(filter(None, map(os.environ.get, ('REGARD_' + name, 'LT_' + name))), ''); \
     path = of('URL_PREFIX').strip('/') + '/healthz'; \
     r.urlopen('http://127.0.0.1:' + of('PORT') + '/' + path.strip('/'), timeout=4)"]
ENTRYPOINT ["regard", "serve"]
CMD ["--help"]
