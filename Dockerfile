ARG PYTHON_IMAGE=python:3.12.14-slim-bookworm@sha256:0f5b26b9518d002b6173fd61daad821fa340635ebfec5bba471013f9ca114579

FROM ${PYTHON_IMAGE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
RUN python -m venv /opt/causeline
# The image has all extras of pyproject.toml; requirements.lock has none of them.
ARG REQUIREMENTS=requirements-all.lock
COPY requirements.lock requirements-all.lock requirements-dev.lock ./
RUN /opt/causeline/bin/pip install --require-hashes -r "${REQUIREMENTS}"
# Only the build backend is installed from the development lock, because the wheel needs it. It stays in this stage.
RUN sed -n '/^setuptools==/,/[^\\]$/p' requirements-dev.lock >build-backend.lock \
    && pip install --require-hashes -r build-backend.lock
COPY pyproject.toml README.md LICENSE ./
COPY collectors collectors
COPY dashboard dashboard
COPY templates templates
COPY timeline timeline
RUN pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/causeline/bin/pip install --no-deps dist/*.whl

FROM ${PYTHON_IMAGE}
# `make image` passes both; an image that is built otherwise does not claim a version.
ARG VERSION=unknown
ARG REVISION=unknown
ARG PYTHON_IMAGE
LABEL org.opencontainers.image.title=Causeline \
    org.opencontainers.image.description="Kubernetes reconciliation timelines" \
    org.opencontainers.image.base.name=$PYTHON_IMAGE \
    org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$REVISION \
    org.opencontainers.image.licenses=Apache-2.0
RUN useradd --uid 10001 --create-home --home-dir /var/lib/causeline causeline
COPY --from=build /opt/causeline /opt/causeline
# Request bodies are spooled to TMPDIR: an upload of gigabytes belongs on the data volume, not in a tmpfs.
ENV PATH=/opt/causeline/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=dashboard.settings \
    CAUSELINE_DATA_DIR=/var/lib/causeline \
    TMPDIR=/var/lib/causeline
USER 10001
WORKDIR /var/lib/causeline
VOLUME /var/lib/causeline
EXPOSE 8000
# 127.0.0.1 has to be one of CAUSELINE_HOSTS. The header stands in for the proxy where CAUSELINE_HTTPS redirects.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", "\
from urllib.request import Request, urlopen; \
urlopen(Request('http://127.0.0.1:8000/healthz', headers={'X-Forwarded-Proto': 'https'}), timeout=4)"]
CMD ["python", "-P", "-m", "dashboard.web", "--host", "0.0.0.0", "--port", "8000"]
