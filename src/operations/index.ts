import { ApiError } from '../contract/errors.js';
import type { EndpointId } from '../contract/index.js';
import { isUnavailable } from '../db/knex.js';
import { create } from './agents/create.js';
import { deleteAgent } from './agents/delete.js';
import { gatewayAccess } from './agents/gateway-access.js';
import { get as getAgent } from './agents/get.js';
import { list as listAgents } from './agents/list.js';
import { provision } from './agents/provision.js';
import { rotateGatewayToken } from './agents/rotate-gateway-token.js';
import { start } from './agents/start.js';
import { status } from './agents/status.js';
import { stop } from './agents/stop.js';
import { update as updateAgent } from './agents/update.js';
import { cancel } from './jobs/cancel.js';
import { events } from './jobs/events.js';
import { get as getJob } from './jobs/get.js';
import { list as listJobs } from './jobs/list.js';
import type { Operation } from './operation.js';
import { authStatus } from './runtime/auth-status.js';
import { bootstrapExchange } from './runtime/bootstrap-exchange.js';
import { me } from './users/me.js';
import { update as updateUser } from './users/update.js';

/** The operation of every endpoint: one that is missing does not compile. */
export const operations: { [Id in EndpointId]: Operation<Id> } = {
  'users.me': me,
  'users.update': updateUser,
  'agents.list': listAgents,
  'agents.create': create,
  'agents.get': getAgent,
  'agents.update': updateAgent,
  'agents.delete': deleteAgent,
  'agents.provision': provision,
  'agents.start': start,
  'agents.stop': stop,
  'agents.status': status,
  'agents.gateway-access': gatewayAccess,
  'agents.rotate-gateway-token': rotateGatewayToken,
  'jobs.list': listJobs,
  'jobs.get': getJob,
  'jobs.events': events,
  'jobs.cancel': cancel,
  'runtime.bootstrap.exchange': bootstrapExchange,
  'runtime.auth.status': authStatus,
};

/** Runs database work of a request; a database that is away becomes 503, and nothing was acknowledged. */
export const whileDatabaseAnswers = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (isUnavailable(error))
      throw new ApiError('unavailable', 'The database does not answer; try again.', { retryAfterSeconds: 2 });
    throw error;
  }
};
