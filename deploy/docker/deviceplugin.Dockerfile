# The device plugin opens the driver's library at run time, so it needs a C library. From the repository's root:
#   docker build -f deploy/docker/deviceplugin.Dockerfile --build-arg VERSION=v1 -t REGISTRY/trellis/deviceplugin:v1 .
ARG GO=golang:1.26-bookworm
ARG BASE=debian:bookworm-slim
FROM ${GO} AS build
ARG VERSION=dev
WORKDIR /src
COPY daemon daemon
COPY growth growth
COPY deviceplugin deviceplugin
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/gocache \
    GOCACHE=/gocache CGO_ENABLED=1 GOWORK=off go build -C deviceplugin -trimpath -tags netgo,osusergo,grpcnotrace -ldflags "-s -w -X main.version=${VERSION}" -o /image/program . && \
    ln -s /program /image/deviceplugin

FROM ${BASE}
# The program, and the name by which `kubectl exec` runs it in every image of Trellis.
COPY --from=build /image/ /
ENTRYPOINT ["/program"]
