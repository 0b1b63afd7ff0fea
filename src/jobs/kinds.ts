import type { JobKind } from '../contract/shapes/job.js';
import type * as workflows from '../../workflows/index.js';

interface KindFacts {
  workflow: keyof typeof workflows;
  /** What operators read in the Temporal UI. */
  summary: string;
  cancelable: boolean;
}

export const kinds: Record<JobKind, KindFacts> = {
  'agent.provision': { workflow: 'provisionAgent', summary: 'Provision the machine', cancelable: true },
  'agent.start': { workflow: 'startAgent', summary: 'Start the machine', cancelable: true },
  'agent.stop': { workflow: 'stopAgent', summary: 'Stop the machine', cancelable: false },
  'agent.delete': { workflow: 'deleteAgent', summary: 'Delete the agent and its machine', cancelable: false },
  'agent.rotate-gateway-token': {
    workflow: 'rotateGatewayToken',
    summary: 'Rotate the gateway token',
    cancelable: false,
  },
  // Until they begin.
  'agent.command': { workflow: 'runCommand', summary: 'Run a command on the machine', cancelable: true },
  'agent.logs': { workflow: 'readLogs', summary: 'Read the log of the machine', cancelable: true },
};
