import { freePort } from '../process/ports.js';
import { start, type Launch } from '../process/launch.js';
import { answers } from '../process/wait.js';
import { findEngine } from './engine.js';

export interface TemporalOptions {
  port: number;
  /** Port of the engine's HTTP API, which readiness is asked at; a free one by default. */
  httpPort?: number;
  /** Port of the web interface; absent = none. */
  uiPort?: number;
  /** File the histories are kept in; absent = in memory. */
  dbFilename?: string;
  logFile: string;
  /** Hears what a person should know, one line at a time. */
  note?: (line: string) => void;
}

export interface Temporal {
  /** `127.0.0.1:<port>` */
  address: string;
  pid: number;
  stop: () => Promise<void>;
}

/**
 * Starts Temporal's development server on 127.0.0.1 and waits until it answers.
 * @throws Failure when there is no engine or it does not start; its message says what to do
 */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  const launch = await temporalLaunch(options);
  const { pid, stop } = await start(launch);
  return { address: `127.0.0.1:${options.port}`, pid, stop };
}

/** Finds the engine and says how to start it, for callers that watch over it themselves. */
export async function temporalLaunch(options: TemporalOptions): Promise<Launch> {
  const { port, uiPort, dbFilename, logFile, note = () => undefined } = options;
  const engine = await findEngine(note);
  const httpPort = options.httpPort ?? (await freePort([port, uiPort ?? 0]));
  const attributes = ['agentId', 'userId', 'jobKind'].map((name) => `--search-attribute=${name}=Keyword`);
  return {
    name: 'temporal',
    command: engine,
    args: [
      'server',
      'start-dev',
      '--ip=127.0.0.1',
      `--port=${port}`,
      `--http-port=${httpPort}`,
      uiPort ? `--ui-port=${uiPort}` : '--headless',
      '--log-level=warn',
      '--disable-config-env',
      '--disable-config-file',
      // Halves a workflow whose activities sit on the workflow worker's own queue.
      '--dynamic-config-value=system.enableActivityEagerExecution=true',
      ...attributes,
      ...(dbFilename ? storedIn(dbFilename) : []),
    ],
    env: process.env,
    logFile,
    ...(dbFilename && { hint: `if its data is broken, move ${dbFilename} away or choose another LOCAL_DIR` }),
    ready: answers(`http://127.0.0.1:${httpPort}/api/v1/namespaces/default`),
  };
}

/** WAL without a sync per commit: survives the death of the process, twice as many starts a second. */
const storedIn = (file: string): string[] => [
  `--db-filename=${file}`,
  '--sqlite-pragma=journal_mode=WAL',
  '--sqlite-pragma=synchronous=NORMAL',
];
