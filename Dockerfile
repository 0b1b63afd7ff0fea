# syntax=docker/dockerfile:1

# One image for the API, the workers and the administration; the command says which:
#   node dist/src/server.js | node dist/workers/control.js | node dist/workers/host.js | node dist/src/cli/main.js admin …
# `docker build --target runtime .` makes another image: the reference runtime, for machines at a real host.

FROM node:24-bookworm-slim AS base
WORKDIR /app

FROM base AS build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY src ./src
COPY workflows ./workflows
COPY activities ./activities
COPY workers ./workers
COPY local/runtime ./local/runtime
RUN node_modules/.bin/tsc -p . && node dist/workers/bundle.js

FROM base AS packages
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

# Runs as root: the volume that a host mounts at /data belongs to root, and the machine is the agent's alone.
FROM base AS runtime
ENV NODE_ENV=production
COPY package.json LICENSE ./
COPY --from=build /app/dist/local/runtime ./dist/local/runtime
EXPOSE 8080
CMD ["node", "dist/local/runtime/main.js"]

FROM base AS service
# Temporal's client looks for the system's certificates; slim images have none.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
COPY package.json LICENSE ./
COPY config ./config
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist/src ./dist/src
COPY --from=build /app/dist/workflows ./dist/workflows
COPY --from=build /app/dist/activities ./dist/activities
COPY --from=build /app/dist/workers ./dist/workers
COPY --from=build /app/dist/workflow-bundle.js ./dist/
USER node
EXPOSE 3000
CMD ["node", "dist/src/server.js"]
