import { startHost } from './host.js';

/** Entry of the stand-in as a process of its own; SIGTERM ends it and all its machines. */

const required = (name: string): string => {
  const value = process.env[name];
  if (value === undefined || value === '') {
    say('cannot start', { why: `${name} is not set` });
    process.exit(1);
  }
  return value;
};

function say(msg: string, fields: Record<string, unknown> = {}): void {
  console.log(JSON.stringify({ level: 'info', time: new Date().toISOString(), msg, ...fields }));
}

try {
  const runtimeEntry = process.env['HOST_STANDIN_RUNTIME'];
  const host = await startHost({
    port: Number(required('HOST_STANDIN_PORT')),
    dir: required('HOST_STANDIN_DIR'),
    token: required('HOST_STANDIN_TOKEN'),
    org: required('HOST_STANDIN_ORG'),
    ...(runtimeEntry !== undefined && { runtimeEntry }),
    log: (message) => say(message),
  });
  say('listening', { url: host.url });
  let isStopping = false;
  const stop = (): void => {
    if (isStopping) return;
    isStopping = true;
    say('stopping');
    host.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
} catch (error) {
  say('cannot start', { why: error instanceof Error ? error.message : 'unknown' });
  process.exitCode = 1;
}
