import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeJson } from '../process/files.js';
import { RunningList } from '../process/leftovers.js';
import { Supervisor } from '../process/supervisor.js';
import type { World } from '../world-file.js';
import { describeWorld } from './describe.js';
import type { WorldFolder } from './folder.js';
import { givenSettings, type Settings } from './given.js';
import { apiPort, keptPorts } from './ports.js';
import { preparations, processes } from './product.js';
import { openSecrets } from './secrets.js';
import { database, engine, host, identity, portNames, type Ground, type StandIn } from './stand-ins.js';

const project = fileURLToPath(new URL('../../../', import.meta.url));

/** Who is stopped when: callers before those they call. */
const stopOrder = [
  ['api'],
  ['worker-control', 'worker-host', 'worker-host-background'],
  ['host'],
  ['identity', 'temporal'],
  ['postgres'],
] as const;

/** A local world: everything the product needs, and the product, as processes of this computer. */
export class LocalWorld {
  private readonly folder: WorldFolder;
  private readonly say: (line: string) => void;
  private readonly list: RunningList;
  private readonly supervisor: Supervisor;

  constructor(folder: WorldFolder, say: (line: string) => void) {
    this.folder = folder;
    this.say = say;
    this.list = new RunningList(folder.path('processes.json'));
    this.supervisor = new Supervisor(this.list, say);
  }

  /** Starts everything and answers when it can be used. @throws Failure with one sentence that says what to do */
  async start(): Promise<World> {
    await this.clearUp();
    const ground = await this.lay();
    const standIns = await this.startStandIns(ground);
    const settings = { ...productDefaults(ground), ...standIns, ...ground.given };
    await Promise.all(preparations(ground, settings).map((one) => this.supervisor.run(one)));
    await Promise.all(processes(ground, settings).map((one) => this.supervisor.start(one)));
    const world = await describeWorld(ground, settings);
    await writeJson(this.worldFile, world);
    return world;
  }

  stop(): Promise<void> {
    return this.supervisor.stopAll(stopOrder);
  }

  kill(): void {
    this.supervisor.killAll();
  }

  private get worldFile(): string {
    return this.folder.path('world.json');
  }

  private async clearUp(): Promise<void> {
    await rm(this.worldFile, { force: true }); // it says where a running world is
    const ended = await this.list.endLeftovers();
    if (ended.length) this.say(`ended what an earlier start left behind: ${ended.join(', ')}`);
  }

  private async lay(): Promise<Ground> {
    const { folder, say } = this;
    const given = await givenSettings(project);
    const port = await apiPort(given['PORT']);
    const ports = await keptPorts(folder.path('ports.json'), portNames, port, say);
    const program: Ground['program'] = (name, entry, env, args = []) => ({
      name,
      command: process.execPath,
      args: [join(project, 'dist', entry), ...args],
      cwd: project,
      env,
      logFile: folder.log(name),
    });
    const secrets = await openSecrets(folder.path('secrets.json'));
    return { folder, given, ports, secrets, apiUrl: `http://127.0.0.1:${port}`, say, program };
  }

  /** Starts them all at once and answers what the product must know to find them. */
  private async startStandIns(ground: Ground): Promise<Settings> {
    const kinds = [database, engine, identity, host];
    const startOne = async (kind: (on: Ground) => StandIn | Promise<StandIn>): Promise<Settings> => {
      const { settings, launch } = await kind(ground);
      if (launch) await this.supervisor.start(launch);
      return settings;
    };
    return Object.assign({}, ...(await Promise.all(kinds.map(startOne))));
  }
}

const productDefaults = ({ given, secrets, apiUrl }: Ground): Settings => ({
  PUBLIC_URL: apiUrl,
  ENCRYPTION_KEYS: secrets.encryptionKeys,
  INSTALLATION_ID: 'local',
  // For load tests: requests are not counted; guesses are, always.
  RATE_LIMITS: given['WORLD_RATE_LIMITS'] === 'off' ? 'off' : 'on',
});
