# The server, the runner and the command line in one image. PostgreSQL and
# ClickHouse are addresses here (FLOWFORGE_DATABASE_URL, FLOWFORGE_CLICKHOUSE_URL).
# While no sign-in is configured the server serves on loopback alone, so run it
# with the host's network, or beside a proxy with sign-in in one network namespace.
ARG GO_IMAGE=golang:1.26-bookworm
ARG PYTHON_IMAGE=python:3.13-slim-bookworm

FROM ${GO_IMAGE} AS build
ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# nochdb leaves the embedded engine out: only without it is the binary static, so
# that it also starts inside task images of any kind. nogallery leaves the fixtures of
# the gallery out.
RUN CGO_ENABLED=0 go build -tags nochdb,nogallery -trimpath -buildvcs=false -ldflags="-s -w" -o /out/flowforge ./cmd/flowforge

FROM ${PYTHON_IMAGE}
RUN useradd --uid 10001 --user-group --create-home flowforge \
    && install -d -m 0700 -o flowforge -g flowforge /var/lib/flowforge
COPY --from=build /out/flowforge /usr/local/bin/flowforge
# The Python SDK has no dependencies: to be on the path is to be installed.
COPY sdk/python/flowforge /opt/flowforge/python/flowforge
ENV PYTHONPATH=/opt/flowforge/python \
    FLOWFORGE_DATA_DIR=/var/lib/flowforge
USER 10001:10001
WORKDIR /var/lib/flowforge
VOLUME /var/lib/flowforge
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["flowforge"]
CMD ["serve"]
