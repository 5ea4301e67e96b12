# An image with the command duckdb-priv, for schedulers that run containers.
#
#   docker build -t duckdb-priv .
#   docker run --rm --user "$(id -u)" -v /srv:/srv duckdb-priv publish /srv/hospital.toml
FROM python:3.13-slim

WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY duckdb_priv duckdb_priv
COPY sql sql
# What is installed is this folder, and has no version to pin.
# hadolint ignore=DL3013
RUN pip install --no-cache-dir .[sql] && rm -rf /build/*

WORKDIR /srv
USER 1000
ENTRYPOINT ["duckdb-priv"]
CMD ["--help"]
