# An example: the server alone, on Python's own slim image, as a user without rights.
#   docker build -t kconf . && docker run -p 9092:9092 -v kconf:/var/lib/kconf kconf
# A gateway in front of a Kafka cluster, with one address for all brokers:
#   docker run -p 9192:9192 -v gateway:/var/lib/kconf kconf serve --upstream kafka:9092 --controllers controller:9093 --listen 0.0.0.0:9192 --override gateway.broker.ports=none --store sqlite:////var/lib/kconf/gateway.db
FROM python:3.13-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[zookeeper,tls,oauth]'

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels 'kconf[zookeeper,tls,oauth]' \
    && useradd --system --create-home --home-dir /var/lib/kconf kconf
USER kconf
WORKDIR /var/lib/kconf
VOLUME /var/lib/kconf
EXPOSE 9092 9404
# Inside a container loopback is nobody's: whoever publishes the port decides who gets in. See docs/security.md.
ENTRYPOINT ["kconf"]
CMD ["serve", "--listen", "0.0.0.0:9092", "--store", "sqlite:////var/lib/kconf/kconf.db", "--metrics", "0.0.0.0:9404"]
