import { z } from 'zod';
import { Id, wholeNumber } from '../common.js';
import { endpoint } from '../endpoint.js';
import { Job } from '../shapes/job.js';
import { AgentLogs, NewCommand } from '../shapes/machine-call.js';

const AgentId = z.object({ id: Id('agent') });
const OkJob = z.strictObject({ ok: z.boolean().describe('False when the job ended without success'), job: Job });

/** What is done on an agent's machine while it runs. */
export const agentMachine = [
  endpoint({
    id: 'agents.run-command',
    http: 'POST /api/agents/:id/commands',
    auth: 'user',
    scope: 'agents',
    title: 'Run a command on the machine',
    about:
      'Runs a program on the machine of an agent that is online, once: a job whose worker or host was lost ends `failed` with `outcome_unknown` and is never run again. The job, read by its id with the scope `agents`, has the result `{exitCode, stdout, stderr, truncated}`: 256 KiB in all, for 24 hours; then `{exitCode, truncated, expired: true}`. Lists and events show `{exitCode, truncated}`. An exit code other than 0 is a success of the job; a signal reads as 128 and its number. A command that outlives its time is ended and fails with `deadline_exceeded`; one that could not begin within five minutes fails with `unavailable` and has not run. Only a command that has not begun can be canceled. 8 at a time for one agent.',
    input: { params: AgentId, body: NewCommand },
    output: { 200: OkJob, 202: OkJob },
    errors: ['plan_required', 'agent_not_provisioned', 'agent_not_online'],
    job: 'agent.command',
    keyed: true,
    effect: 'write',
    names: { tool: false, command: 'agents run', task: false },
  }),
  endpoint({
    id: 'agents.logs',
    http: 'GET /api/agents/:id/logs',
    auth: 'user',
    scope: 'agents',
    title: 'Read the log of the machine',
    about:
      "The newest lines of the runtime's log, from a machine that runs. Waits for them 10 seconds, or as long as `Prefer: wait` says; then 202, and the job has them as its result `{lines, truncated}` for ten minutes.",
    input: {
      params: AgentId,
      query: z.object({ tail: wholeNumber(1, 500).optional().describe('How many at most, 1 to 500; 100 unless told') }),
    },
    output: { 200: AgentLogs, 202: OkJob },
    errors: ['agent_not_provisioned', 'agent_not_online'],
    job: 'agent.logs',
    effect: 'read',
    secretOutput: true,
    names: { tool: false, command: 'agents logs', task: false },
  }),
] as const;
