# One of the static binaries (extender, coordinator, tuner) and nothing else. From the repository's root:
#   docker build -f deploy/docker/static.Dockerfile --build-arg BINARY=extender --build-arg VERSION=v1 -t REGISTRY/trellis/extender:v1 .
ARG GO=golang:1.26
FROM ${GO} AS build
ARG BINARY
ARG VERSION=dev
WORKDIR /src
# Only the shared modules and the binary: without go.work, each module builds by the replaces in its own go.mod.
COPY daemon daemon
COPY growth growth
COPY ${BINARY} ${BINARY}
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/gocache \
    GOCACHE=/gocache CGO_ENABLED=0 GOWORK=off go build -C ${BINARY} -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /image/program . && \
    ln -s /program /image/${BINARY}

FROM scratch
# The program, and the name by which `kubectl exec` runs it in every image of Trellis.
COPY --from=build /image/ /
USER 65532:65532
ENTRYPOINT ["/program"]
