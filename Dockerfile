# The first stage installs from the lock file, the second holds only what runs. Contains no secrets.
FROM python:3.13-slim-trixie AS install
WORKDIR /source
RUN python -m venv /opt/hakoiri
COPY requirements.lock ./
# Symbols that only a debugger reads, and the tests of the packages, are a sixth of what is installed. The libraries in
# the folders *.libs were rewritten by auditwheel, and strip can break such files.
RUN /opt/hakoiri/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
    && apt-get update && apt-get install --yes --no-install-recommends binutils \
    && find /opt/hakoiri -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} + \
    && find /opt/hakoiri -type d -name tests -prune -exec rm -r {} +
COPY pyproject.toml README.md LICENSE ./
COPY puzzles puzzles
COPY storage storage
COPY worker worker
COPY coordinator coordinator
COPY hakoiri hakoiri
RUN /opt/hakoiri/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /opt/hakoiri/bin/pip uninstall --yes setuptools pip

FROM python:3.13-slim-trixie
LABEL org.opencontainers.image.title="Hakoiri" \
      org.opencontainers.image.description="Distributed, disk-backed, exhaustive search of puzzle state spaces" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="MIT"

# A fixed uid, so that volumes fit the next image too. A new volume at /data takes over the owner that it has here.
RUN groupadd --gid 10001 hakoiri \
    && useradd --uid 10001 --gid hakoiri --no-create-home --home-dir /data hakoiri \
    && install -d -o hakoiri -g hakoiri /data /opt/kernels
COPY --from=install /opt/hakoiri /opt/hakoiri
COPY scripts/container /usr/local/bin/hakoiri-container
ENV PATH=/opt/hakoiri/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HAKOIRI_DATA=/data \
    XDG_CACHE_HOME=/tmp/cache \
    BUILT_KERNELS=/opt/kernels
USER 10001:10001
WORKDIR /data

# Compile the kernels once, here. On another kind of processor they are compiled again when they are needed.
RUN XDG_CACHE_HOME=$BUILT_KERNELS python -m hakoiri.worker.built_in

# docker-compose.yml has a check for each service.
HEALTHCHECK NONE
ENTRYPOINT ["hakoiri-container"]
CMD ["--help"]
