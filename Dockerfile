# The first stage installs from the lock file, the second holds only what runs. Contains no secrets.
# The base is named by its tag, so that a build has the latest fixes of Debian and Python. For a build that can be repeated, add the
# digest that `docker buildx imagetools inspect python:3.13-slim-trixie` prints: FROM python:3.13-slim-trixie@sha256:...
FROM python:3.13-slim-trixie AS install
WORKDIR /source
RUN python -m venv /opt/hakoiri
COPY requirements.lock ./
# Left out, because nothing imports them: the packages' tests and sources in C, symbols that only a debugger reads. The
# libraries in the folders *.libs were rewritten by auditwheel, and strip can break such files.
RUN /opt/hakoiri/bin/pip install --no-cache-dir --no-compile --require-hashes -r requirements.lock \
    && apt-get update && apt-get install --yes --no-install-recommends binutils redis-server \
    && find /opt/hakoiri -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} + \
    && find /opt/hakoiri -type d -name tests -prune -exec rm -r {} + \
    && find /opt/hakoiri -type f -regex '.*\.\(c\|cpp\|h\|pxd\|pyi\|pyx\)' -delete
COPY pyproject.toml README.md LICENSE ./
COPY hakoiri hakoiri
RUN /opt/hakoiri/bin/pip install --no-cache-dir --no-compile --no-deps --no-build-isolation . \
    && /opt/hakoiri/bin/pip uninstall --yes setuptools pip
# Compile the kernels once, here; on another kind of processor they are compiled again when they are needed. Importing
# every module of Hakoiri, and what plots need, compiles to bytecode what is imported later, and no more.
WORKDIR /
# Names of puzzles, for an image that has compiled only theirs; by default all.
ARG PUZZLES=""
RUN XDG_CACHE_HOME=/opt/kernels /opt/hakoiri/bin/python -m hakoiri.cli.built_in $PUZZLES \
    && /opt/hakoiri/bin/python -c 'import hakoiri, pkgutil, PIL.Image, matplotlib.backends.backend_agg; \
    [__import__(each.name) for each in pkgutil.walk_packages(hakoiri.__path__, "hakoiri.")]'
# What hosts alone call, by a host that ends with this step.
RUN export XDG_CACHE_HOME=/opt/kernels HAKOIRI_DATA=/tmp/data HAKOIRI_REDIS=redis://127.0.0.1:6379/0 PATH=/opt/hakoiri/bin:$PATH \
    && redis-server --save '' --daemonize yes && (hakoiri worker --store /tmp/store & sleep 9) \
    && hakoiri run hanoi --hosts 1 && hakoiri run gap -o ranks=4 --hosts 1

FROM python:3.13-slim-trixie
LABEL org.opencontainers.image.title="Hakoiri" \
      org.opencontainers.image.description="Distributed, disk-backed, exhaustive search of puzzle state spaces" \
      org.opencontainers.image.version="0.3.0" \
      org.opencontainers.image.licenses="MIT"

# A host starts a Redis for the messages to it. A fixed uid, so that volumes fit the next image too. A new volume at /data
# or /store takes over the owner that it has here.
RUN apt-get update && apt-get install --yes --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin \
    && groupadd --gid 10001 hakoiri \
    && useradd --uid 10001 --gid hakoiri --no-create-home --home-dir /data hakoiri \
    && install -d -o hakoiri -g hakoiri /data /store
COPY --from=install /opt/hakoiri /opt/hakoiri
COPY --from=install --chown=10001:10001 /opt/kernels /opt/kernels
COPY scripts/container /usr/local/bin/hakoiri-container
ENV PATH=/opt/hakoiri/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HAKOIRI_DATA=/data \
    XDG_CACHE_HOME=/tmp/cache \
    BUILT_KERNELS=/opt/kernels
USER 10001:10001
WORKDIR /data

# docker-compose.yml has a check for each service.
HEALTHCHECK NONE
ENTRYPOINT ["hakoiri-container"]
CMD ["--help"]
