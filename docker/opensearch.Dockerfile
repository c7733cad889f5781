# OpenSearch with k-NN (part of the official image) and IK. Build it from the root of the repository:
#
#   docker build --file docker/opensearch.Dockerfile --tag mem-opensearch:3.6.0 .
#
# IK is our own plugin, compiled here, and not the published analysis-ik archive: so a local node and this image cut a
# text into the same tokens (same source, same dictionary, same stop words, same mends), every file is checked by the
# SHA-256 of the same lock, and there is a plugin for every version that has a lock, on the day the server appears.

ARG OPENSEARCH_VERSION=3.6.0
ARG PYTHON_VERSION=3.13

FROM opensearchproject/opensearch:${OPENSEARCH_VERSION} AS official

# ---- the plugin
FROM python:${PYTHON_VERSION}-slim AS plugin
ARG OPENSEARCH_VERSION
WORKDIR /build
COPY docker/build-requirements.txt docker/
RUN pip install --no-cache-dir --requirement docker/build-requirements.txt
COPY mem_opensearch/ mem_opensearch/
COPY docker/build_plugin.py docker/
# Compiled against the jars of the very server that it will run in.
COPY --from=official /usr/share/opensearch/lib/ /server/lib/
RUN PYTHONPATH=/build python docker/build_plugin.py "${OPENSEARCH_VERSION}" --library /server/lib --target /analysis-ik.zip

# ---- the one-shot service that makes the certificates
FROM python:${PYTHON_VERSION}-slim AS certificates
# Debian's ca-certificates, which the image has, depends on it; should that end, the build fails here and says so.
RUN openssl version
COPY --chmod=755 docker/certificates.sh /usr/local/bin/certificates
ENTRYPOINT ["/usr/local/bin/certificates"]

# ---- the server
FROM official AS server
# The server's own tool: it refuses a plugin for another version, and jars that clash with the server's.
RUN --mount=type=bind,from=plugin,source=/analysis-ik.zip,target=/tmp/analysis-ik.zip \
    bin/opensearch-plugin install --batch file:///tmp/analysis-ik.zip
COPY docker/security.yml /usr/share/opensearch/mem-opensearch/
COPY --chmod=755 docker/entrypoint.sh /usr/share/opensearch/mem-opensearch/
ENTRYPOINT ["/usr/share/opensearch/mem-opensearch/entrypoint.sh"]
CMD ["opensearch"]
