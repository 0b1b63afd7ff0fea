import { resolve } from 'node:path';

/** What the machine's environment and command line tell the runtime (docs/runtime.md). */
export interface RuntimeSettings {
  controlPlaneUrl: string;
  agentId: string;
  runtimeId: string;
  runtimeVersion: string;
  host: string;
  port: number;
  stateDir: string;
  bootstrapToken: string;
  gatewayToken: string;
  isNeverReady: boolean;
  endsWithStdin: boolean;
}

/**
 * Reads the settings; `--listen host:port` and `--state-dir` win over the environment.
 * `--never-ready` keeps `/readyz` at 503 and `--end-with-stdin` ties the life of the process
 * to its parent's pipe: both exist for stand-ins and tests.
 * @throws Error naming every setting that is missing or malformed.
 */
export function readSettings(env: NodeJS.ProcessEnv, args: string[]): RuntimeSettings {
  const faults: string[] = [];
  const required = (name: string): string => {
    const value = env[name] ?? '';
    if (value === '') faults.push(`${name} is not set`);
    return value;
  };
  const listen = option(args, '--listen') ?? `0.0.0.0:${env['ACP_GATEWAY_PORT'] ?? '18789'}`;
  const colon = listen.lastIndexOf(':');
  const port = Number(listen.slice(colon + 1));
  if (colon < 1 || !Number.isInteger(port) || port < 0 || port > 65_535) {
    faults.push(`"${listen}" is not host:port`);
  }
  const settings: RuntimeSettings = {
    controlPlaneUrl: required('ACP_URL').replace(/\/+$/, ''),
    agentId: required('ACP_AGENT_ID'),
    runtimeId: required('ACP_RUNTIME_ID'),
    runtimeVersion: required('ACP_RUNTIME_VERSION'),
    host: listen.slice(0, colon),
    port,
    stateDir: resolve(option(args, '--state-dir') ?? env['ACP_STATE_DIR'] ?? '/data/acp'),
    bootstrapToken: required('ACP_BOOTSTRAP_TOKEN'),
    gatewayToken: required('ACP_GATEWAY_TOKEN'),
    isNeverReady: args.includes('--never-ready'),
    endsWithStdin: args.includes('--end-with-stdin'),
  };
  if (settings.controlPlaneUrl !== '' && !/^https?:\/\//.test(settings.controlPlaneUrl)) {
    faults.push('ACP_URL is not an http or https address');
  }
  if (faults.length > 0) throw new Error(faults.join('; '));
  return settings;
}

function option(args: string[], name: string): string | undefined {
  const at = args.indexOf(name);
  return at === -1 ? undefined : args[at + 1];
}
