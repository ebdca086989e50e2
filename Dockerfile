# A bot on SQLite in a container: compose.yaml starts it, docs/operating.md says the rest.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements.txt ./
RUN python -m venv /opt/elefante && \
    /opt/elefante/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY bot ./bot
COPY core ./core
COPY adapters ./adapters
RUN /opt/elefante/bin/python -m pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation . && \
    /opt/elefante/bin/python -m pip uninstall --yes \
      editables hatchling pathspec pluggy tomlkit trove-classifiers setuptools pip

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --no-create-home --home-dir /data elefante && \
    install -d -o elefante -g elefante -m 700 /data
COPY --from=build /opt/elefante /opt/elefante
ENV PATH=/opt/elefante/bin:$PATH DATA_DIR=/data
VOLUME /data
WORKDIR /data
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=60s --timeout=20s --start-period=120s CMD ["elefante", "status"]
ENTRYPOINT ["elefante"]
CMD ["run"]
