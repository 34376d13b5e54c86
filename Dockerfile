# One file, three images: `web` (no torch), `worker-cpu`, `worker-gpu`.
#   docker build --target web -t tilewright-web .
# docker-compose.yml builds and wires all of them.

FROM python:3.12-slim-bookworm AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /srv/tilewright
RUN useradd --system --uid 10001 --home-dir /srv/tilewright tilewright && install -d -o tilewright /srv/tilewright/var
COPY pyproject.toml constraints.txt README.md LICENSE ./

FROM base AS web
# Dependencies first: editing the code must not download them again.
RUN mkdir -p app grader migrations && touch app/__init__.py grader/__init__.py migrations/__init__.py \
    && pip install -c constraints.txt -e .
COPY . .
USER tilewright
ENV TILEWRIGHT_HOST=0.0.0.0 TILEWRIGHT_PORT=8000
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
CMD ["tilewright", "serve"]

# Workers keep root inside the container: they need it to build each sandbox, and hand learner code to an
# unprivileged user inside it. See docs/operators.md for what the container itself is allowed.
FROM base AS worker
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap libseccomp2 util-linux && rm -rf /var/lib/apt/lists/*

FROM worker AS worker-cpu
RUN pip install -c constraints.txt torch --index-url https://download.pytorch.org/whl/cpu --extra-index-url https://pypi.org/simple
RUN mkdir -p app grader migrations && touch app/__init__.py grader/__init__.py migrations/__init__.py \
    && pip install -c constraints.txt -e '.[grader]'
COPY . .
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s CMD ["tilewright", "workers", "--lane", "cpu", "--here"]
CMD ["tilewright", "worker", "--lane", "cpu"]

FROM worker AS worker-gpu
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
RUN mkdir -p app grader migrations && touch app/__init__.py grader/__init__.py migrations/__init__.py \
    && pip install -c constraints.txt -e '.[grader]'
COPY . .
HEALTHCHECK --interval=15s --timeout=10s --start-period=120s CMD ["tilewright", "workers", "--lane", "gpu", "--here"]
CMD ["tilewright", "worker", "--lane", "gpu"]
