# What is installed is exactly what requirements.lock names, by hash; the image that runs has no compiler and no pip in it. No
# `# syntax=` line: that would be one more image to fetch and to pin, and nothing here needs it.
#
# The base is pinned by its exact tag: where this was written no registry could be asked for a digest. Pin the digest with
#   docker buildx imagetools inspect python:3.11.13-slim-bookworm --format '{{.Manifest.Digest}}'
#   docker build --build-arg BASE=python:3.11.13-slim-bookworm@sha256:... .
ARG BASE=python:3.11.13-slim-bookworm

FROM ${BASE} AS build
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ONLY_BINARY=:all:
COPY requirements.lock deploy/image/part_of_lock.py ./
RUN python part_of_lock.py requirements.lock hatchling > build.lock \
 && python part_of_lock.py requirements.lock "gitops-mc (pyproject.toml)" > run.lock \
 && python -m venv /build \
 && python -m venv --without-pip /opt/gitops-mc \
 && /build/bin/pip install --require-hashes -r build.lock \
 && /build/bin/pip --python /opt/gitops-mc/bin/python install --require-hashes -r run.lock
COPY pyproject.toml README.md LICENSE ./
COPY gitops_mc ./gitops_mc
COPY examples/fleet ./examples/fleet
COPY deploy/crds ./deploy/crds
COPY man ./man
RUN /build/bin/pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /wheels . \
 && /build/bin/pip --python /opt/gitops-mc/bin/python install --no-deps --no-index /wheels/*.whl \
 && /opt/gitops-mc/bin/gitops-mc --version

FROM ${BASE}
LABEL org.opencontainers.image.title="gitops-mc" \
      org.opencontainers.image.description="GitOps for the machine configuration of a fleet of Kubernetes clusters" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# git fetches (bookworm has 2.39; older than 2.32 will not do), ssh carries it, gpg checks signatures: gpg alone, for no agent is
# ever started. Debian's packages are those of the day of the build: pinned ones are gone from its servers with the next fix.
# The base brings pip along, which nobody needs here, and programs that run as root whoever starts them.
# ssh refuses to run for a uid without a line in passwd, so there is one.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git gpg openssh-client \
 && rm -rf /var/lib/apt/lists/* \
 && python -m pip uninstall --yes --root-user-action=ignore pip setuptools wheel \
 && rm -rf /usr/local/lib/python3.*/ensurepip \
 && find / -xdev -type f -perm /6000 -exec chmod ug-s {} + \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin gitops-mc
COPY --from=build /opt/gitops-mc /opt/gitops-mc
ENV PATH=/opt/gitops-mc/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
EXPOSE 8080 8081
ENTRYPOINT ["gitops-mc"]
CMD ["controller", "--probes=8080", "--webhook=8081"]
