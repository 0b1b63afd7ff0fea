import { ApiError } from '../contract/errors.js';
import type { EndpointId } from '../contract/index.js';
import { isUnavailable } from '../db/knex.js';
import { clone } from './agents/clone.js';
import { create } from './agents/create.js';
import { deleteAgent } from './agents/delete.js';
import { gatewayAccess } from './agents/gateway-access.js';
import { get as getAgent } from './agents/get.js';
import { list as listAgents } from './agents/list.js';
import { logs } from './agents/logs.js';
import { provision } from './agents/provision.js';
import { rotateGatewayToken } from './agents/rotate-gateway-token.js';
import { runCommand } from './agents/run-command.js';
import { start } from './agents/start.js';
import { status } from './agents/status.js';
import { stop } from './agents/stop.js';
import { update as updateAgent } from './agents/update.js';
import { cancel } from './jobs/cancel.js';
import { events } from './jobs/events.js';
import { get as getJob } from './jobs/get.js';
import { list as listJobs } from './jobs/list.js';
import { list as listAudit } from './audit/list.js';
import { deviceApprove } from './auth/device-approve.js';
import { deviceDeny } from './auth/device-deny.js';
import { deviceLookup } from './auth/device-lookup.js';
import { devicePoll } from './auth/device-poll.js';
import { deviceStart } from './auth/device-start.js';
import { logout } from './auth/logout.js';
import { refresh } from './auth/refresh.js';
import { sessionsList } from './auth/sessions-list.js';
import { sessionsRevoke } from './auth/sessions-revoke.js';
import { tokensCreate } from './auth/tokens-create.js';
import type { Operation } from './operation.js';
import { attentionList } from './operator/attention-list.js';
import { jobsResolve } from './operator/jobs-resolve.js';
import { jobsRetry } from './operator/jobs-retry.js';
import { authRefresh } from './runtime/auth-refresh.js';
import { authRevoke } from './runtime/auth-revoke.js';
import { authStatus } from './runtime/auth-status.js';
import { bootstrapExchange } from './runtime/bootstrap-exchange.js';
import { identitiesList } from './runtime/identities-list.js';
import { me } from './users/me.js';
import { update as updateUser } from './users/update.js';

/** The operation of every endpoint: one that is missing does not compile. */
export const operations: { [Id in EndpointId]: Operation<Id> } = {
  'auth.device.start': deviceStart,
  'auth.device.poll': devicePoll,
  'auth.device.lookup': deviceLookup,
  'auth.device.approve': deviceApprove,
  'auth.device.deny': deviceDeny,
  'auth.refresh': refresh,
  'auth.logout': logout,
  'auth.sessions.list': sessionsList,
  'auth.sessions.revoke': sessionsRevoke,
  'auth.tokens.create': tokensCreate,
  'users.me': me,
  'users.update': updateUser,
  'agents.list': listAgents,
  'agents.create': create,
  'agents.clone': clone,
  'agents.get': getAgent,
  'agents.update': updateAgent,
  'agents.delete': deleteAgent,
  'agents.provision': provision,
  'agents.start': start,
  'agents.stop': stop,
  'agents.status': status,
  'agents.gateway-access': gatewayAccess,
  'agents.rotate-gateway-token': rotateGatewayToken,
  'agents.run-command': runCommand,
  'agents.logs': logs,
  'jobs.list': listJobs,
  'jobs.get': getJob,
  'jobs.events': events,
  'jobs.cancel': cancel,
  'runtime.bootstrap.exchange': bootstrapExchange,
  'runtime.auth.refresh': authRefresh,
  'runtime.auth.revoke': authRevoke,
  'runtime.auth.status': authStatus,
  'runtime.identities.list': identitiesList,
  'audit.list': listAudit,
  'operator.attention.list': attentionList,
  'operator.jobs.retry': jobsRetry,
  'operator.jobs.resolve': jobsResolve,
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
