# sutler in a container: not root, and the root file system may be read-only.
#   docker build -t sutler .
#   docker run --rm --read-only --tmpfs /tmp -v "$PWD:/work:ro" sutler pack > pack.md
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN python -m venv /opt/sutler \
 && /opt/sutler/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt .

FROM python:3.13-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends git \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home sutler
COPY --from=build /opt/sutler /opt/sutler
ENV PATH=/opt/sutler/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    XDG_STATE_HOME=/tmp/state \
    XDG_CACHE_HOME=/tmp/cache
USER sutler
WORKDIR /work
ENTRYPOINT ["sutler"]
CMD ["--help"]
