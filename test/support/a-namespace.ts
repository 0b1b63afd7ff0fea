import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ip = (...args: string[]) => run('ip', args);

/** A cable between this network namespace and the other. */
export interface Cable {
  /** Our end's address, at which the other side finds what is forwarded to it. */
  here: string;
  there: string;
  /**
   * From now on every packet, in both directions, is lost without a word: each end sends to an Ethernet address that nobody has, and
   * the other end drops what is not for it.
   */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export interface Namespace {
  /** Put before a command to run it in there. */
  enter: readonly string[];
  cable(): Promise<Cable>;
  /** Makes a TCP port of ours reachable through a cable; returns `host:port` as the other side names it. */
  forward(cable: Cable, target: string): Promise<string>;
  /** Makes a port in there reachable from here. */
  reach(cable: Cable, port: number): Promise<void>;
  close(): Promise<void>;
}

/** Why no namespace can be made here; undefined when one can. */
export const whyNoNamespace = async (): Promise<string | undefined> => {
  if (process.platform !== 'linux') return 'network namespaces are a thing of Linux';
  if (process.getuid?.() !== 0) return 'only root may make a network namespace';
  const name = `acp-try-${process.pid}`;
  try {
    await ip('netns', 'add', name);
    await ip('link', 'add', `acpt${process.pid}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    return undefined;
  } catch (error) {
    return `no network namespace with a cable can be made: ${String(error).split('\n')[0] ?? ''} (is iproute2 installed?)`;
  } finally {
    await ip('netns', 'delete', name).catch(() => undefined); // takes the cable with it
  }
};

const NOBODY = '02:00:00:00:00:01';

/** Sends all of one socket to the other, until one of them ends. */
const join = (one: Socket, other: Socket): void => {
  const drop = () => {
    one.destroy();
    other.destroy();
  };
  for (const socket of [one, other]) socket.setNoDelay(true).on('error', drop).on('close', drop);
  one.pipe(other).pipe(one);
};

/** A network namespace with cables to this one and nothing else. For root on Linux: ask `whyNoNamespace` first. */
export const aNamespace = async (): Promise<Namespace> => {
  const id = randomBytes(3).toString('hex');
  const name = `acp-${id}`;
  // Link-local, so that nothing of it is ever routed; a range of its own for each namespace.
  const net = `169.254.${64 + Math.floor(Math.random() * 128)}`;
  const closers: (() => Promise<unknown>)[] = [];
  await ip('netns', 'add', name);
  closers.push(() => ip('netns', 'delete', name));
  await ip('-n', name, 'link', 'set', 'lo', 'up');
  let cables = 0;

  const listen = async (host: string, port: number, to: () => Socket): Promise<number> => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      const other = to();
      sockets.add(socket).add(other);
      join(socket, other);
    });
    server.listen(port, host);
    await once(server, 'listening');
    closers.push(async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    });
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : port;
  };

  return {
    enter: ['ip', 'netns', 'exec', name],
    cable: async () => {
      const index = cables++;
      const [ours, theirs] = [`acp${id}${index}`, `acp${index}`];
      const [here, there] = [`${net}.${4 * index + 1}`, `${net}.${4 * index + 2}`];
      await ip('link', 'add', ours, 'type', 'veth', 'peer', 'name', theirs, 'netns', name);
      await ip('address', 'add', `${here}/30`, 'dev', ours);
      await ip('link', 'set', ours, 'up');
      await ip('-n', name, 'address', 'add', `${there}/30`, 'dev', theirs);
      await ip('-n', name, 'link', 'set', theirs, 'up');
      const neighbours = [
        ['neighbour', there, ours],
        ['-n', name, 'neighbour', here, theirs],
      ].map((words) => ({ before: words.slice(0, -2), address: words.at(-2) ?? '', device: words.at(-1) ?? '' }));
      return {
        here,
        there,
        cut: async () => {
          for (const { before, address, device } of neighbours)
            await ip(...before, 'replace', address, 'lladdr', NOBODY, 'nud', 'permanent', 'dev', device);
        },
        mend: async () => {
          for (const { before, address, device } of neighbours) await ip(...before, 'delete', address, 'dev', device);
        },
      };
    },
    forward: async (cable, target) => {
      const { hostname, port } = new URL(`tcp://${target}`);
      return `${cable.here}:${await listen(cable.here, 0, () => connect(Number(port), hostname))}`;
    },
    reach: async (cable, port) => void (await listen('127.0.0.1', port, () => connect(port, cable.there))),
    close: async () => {
      for (const close of closers.toReversed()) await close();
    },
  };
};
