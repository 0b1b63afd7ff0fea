import { Agent, request } from 'undici';

export interface MachineGateway {
  /** Whether the gateway on the machine answers that it is ready; an answer that says no, or none at all, is false. */
  isReady(gatewayUrl: string, signal?: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 3_000;

export const makeMachineGateway = (): MachineGateway => {
  const agent = new Agent({ connect: { timeout: TIMEOUT_MS } });
  return {
    close: () => agent.close(),
    async isReady(gatewayUrl, signal) {
      try {
        const { statusCode, body } = await request(`${gatewayUrl}/readyz`, {
          dispatcher: agent,
          headersTimeout: TIMEOUT_MS,
          bodyTimeout: TIMEOUT_MS,
          ...(signal ? { signal } : {}),
        });
        await body.dump();
        return statusCode === 200;
      } catch (error) {
        if (signal?.aborted) throw error;
        return false;
      }
    },
  };
};
