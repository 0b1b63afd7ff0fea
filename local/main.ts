import { hearEnding } from './process/ending.js';
import { Failure } from './process/failure.js';
import { tableOf } from './start/describe.js';
import { openFolder, worldDir } from './start/folder.js';
import { LocalWorld } from './start/world.js';

/** `npm start`: the whole product on this computer, until Ctrl-C. */

const began = Date.now();
const say = (line: string): void => console.log(`world: ${line}`);
process.stdout.on('error', () => undefined); // a closed terminal must not end us before the others have stopped

try {
  await run();
} catch (error) {
  complain(error);
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const folder = await openFolder(worldDir());
  const world = new LocalWorld(folder, say);
  say(`starting; data and logs are in ${folder.dir}`);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= world.stop().then(() => folder.release()));
  const end = (why: string, exitCode: number): void => {
    say(`stopping everything (${why})`);
    void close().then(() => {
      say('stopped');
      process.exit(exitCode);
    });
  };
  hearEnding({
    end: (why) => end(why, 0),
    hurry: () => {
      world.kill();
      process.exit(1);
    },
  });
  process.on('uncaughtException', (error) => {
    complain(error);
    end('a fault of the starter', 1);
  });
  try {
    console.log(tableOf(await world.start(), folder.path('logs')));
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    console.log(`ready after ${seconds} s. Ctrl-C stops everything. A token: npm run -s world -- token`);
  } catch (error) {
    if (closing) return; // what was interrupted fails; the ending goes on
    await close();
    throw error;
  }
}

function complain(error: unknown): void {
  console.error(error instanceof Failure ? `world: ${error.message}` : error);
}
