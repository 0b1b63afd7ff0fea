import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '../../local/process/ports.js';

export interface TcpProxy {
  /** `127.0.0.1:<port>` */
  address: string;
  /** As if the server were gone: connections break, new ones are refused. */
  refuse(): Promise<void>;
  /** As if the network swallowed everything: connections stay, nothing arrives any more. */
  hush(): void;
  /** All is well again. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** Stands between a process and a server it connects to, and can be as broken as a network. */
export const aTcpProxy = async (target: string): Promise<TcpProxy> => {
  const { hostname, port: targetPort } = new URL(`tcp://${target}`);
  const port = await freePort();
  const pairs = new Set<readonly [Socket, Socket]>();
  let isHushed = false;
  const server = createServer((inner) => {
    const outer = connect(Number(targetPort), hostname);
    const pair = [inner, outer] as const;
    pairs.add(pair);
    const drop = () => {
      pairs.delete(pair);
      inner.destroy();
      outer.destroy();
    };
    for (const socket of pair) socket.setNoDelay(true).on('error', drop).on('close', drop);
    // Written by hand and not piped, so that a hush can lose what is under way.
    inner.on('data', (chunk) => isHushed || outer.write(chunk));
    outer.on('data', (chunk) => isHushed || inner.write(chunk));
  });
  const listen = async (): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const breakAll = () => {
    for (const [inner, outer] of pairs) {
      inner.destroy(); // no reset: of a socket that is closing already, Node 20 then never lets go
      outer.destroy();
    }
  };
  const refuse = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    breakAll();
    await closed;
  };
  await listen();
  return {
    address: `127.0.0.1:${port}`,
    refuse,
    hush: () => {
      isHushed = true;
    },
    restore: async () => {
      // What was said into the void is lost for ever: such connections cannot be continued.
      if (isHushed) breakAll();
      isHushed = false;
      if (!server.listening) await listen();
    },
    close: refuse,
  };
};
