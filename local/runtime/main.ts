import { makeControlPlane } from './control-plane.js';
import { makeGateway } from './gateway.js';
import { log as print, makeKeptLog, type Log } from './log.js';
import { makeSessionFile } from './session-file.js';
import { readSettings, type RuntimeSettings } from './settings.js';
import { signOn, type SignOn } from './sign-on.js';

/** Told apart from a crash, so that whoever chose the port can choose another. */
const EXIT_PORT_IN_USE = 98;
const CLOSE_MS = 250;

function main(): void {
  let settings: RuntimeSettings;
  try {
    settings = readSettings(process.env, process.argv.slice(2));
  } catch (error) {
    print('the runtime cannot start', { why: error instanceof Error ? error.message : 'unknown' });
    process.exitCode = 1;
    return;
  }
  run(settings);
}

function run(settings: RuntimeSettings): void {
  const log = makeKeptLog(settings.stateDir);
  const stopping = new AbortController();
  const gateway = makeGateway({
    ...settings,
    startedAt: new Date(),
    signOn: settings.isNeverReady ? neverSignedOn : startSignOn(settings, log, stopping.signal),
  });
  gateway.once('error', (error: NodeJS.ErrnoException) => {
    log('cannot listen', { why: error.code ?? error.name, port: settings.port });
    process.exit(error.code === 'EADDRINUSE' ? EXIT_PORT_IN_USE : 1);
  });
  gateway.listen(settings.port, settings.host, () => {
    log('listening', { agentId: settings.agentId, runtimeVersion: settings.runtimeVersion });
  });

  const stop = (why: string): void => {
    if (stopping.signal.aborted) return;
    log('stopping', { why });
    stopping.abort();
    gateway.close(() => process.exit(0));
    setTimeout(() => process.exit(0), CLOSE_MS);
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  if (settings.endsWithStdin) {
    process.stdin.on('close', () => stop('parent gone')).resume();
    process.stdin.on('error', () => stop('parent gone'));
  }
}

const neverSignedOn: SignOn = { session: undefined, reason: 'never_ready' };

function startSignOn(settings: RuntimeSettings, log: Log, stopping: AbortSignal): SignOn {
  return signOn({
    ...settings,
    controlPlane: makeControlPlane(settings.controlPlaneUrl, stopping),
    file: makeSessionFile(settings.stateDir),
    log,
    stopping,
  });
}

main();
