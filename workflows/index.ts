export { deleteAgent } from './delete-agent.js';
export { provisionAgent } from './provision-agent.js';
export { readLogs } from './read-logs.js';
export { reconcileHost } from './reconcile-host.js';
export { rotateGatewayToken } from './rotate-gateway-token.js';
export { runCommand } from './run-command.js';
export { startAgent } from './start-agent.js';
export { stopAgent } from './stop-agent.js';
