import type { Launch } from '../process/launch.js';
import { answers } from '../process/wait.js';
import type { Settings } from './given.js';
import type { Ground } from './stand-ins.js';

/** Programs that run once, before the product's processes: the database's schema, Temporal's search attributes. */
export const preparations = ({ program }: Ground, settings: Settings): Omit<Launch, 'ready'>[] => [
  program('migrate', 'src/cli/main.js', withoutHost(settings), ['admin', 'migrate']),
  program('temporal-apply', 'src/cli/main.js', withoutHost(settings), ['admin', 'temporal', 'apply']),
];

/** The product's processes: the API and one worker for each queue. */
export const processes = ({ program, ports, apiUrl }: Ground, settings: Settings): Launch[] => [
  {
    ...program('api', 'src/server.js', {
      ...withoutHost(settings),
      PORT: new URL(apiUrl).port,
      METRICS_PORT: String(ports.apiMetrics),
    }),
    ready: answers(`${apiUrl}/readyz`),
  },
  worker('control', ports.control, ports.controlMetrics, withoutHost(settings), program),
  worker('host', ports.hostWorker, ports.hostWorkerMetrics, settings, program),
  worker('host-background', ports.background, ports.backgroundMetrics, settings, program),
];

function worker(
  queue: string,
  healthPort: number,
  metricsPort: number,
  settings: Settings,
  program: Ground['program'],
): Launch {
  const own = { HEALTH_PORT: String(healthPort), METRICS_PORT: String(metricsPort) };
  return {
    ...program(`worker-${queue}`, `workers/${queue}.js`, { ...settings, ...own }),
    ready: answers(`http://127.0.0.1:${healthPort}/readyz`),
    stopWithinMs: 35_000, // longer than a worker's own grace for what it has under way
  };
}

/** Only workers of the host's queues may hold the key to the host. */
function withoutHost(settings: Settings): Settings {
  const { HOST_API_URL: _url, HOST_API_TOKEN: _token, ...rest } = settings;
  return rest;
}
