import type { ParameterizedContext } from 'koa';
import type { EndpointRecord } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import { whileDatabaseAnswers } from '../operations/index.js';
import type { AnyAnswer, Deps, Rendered } from '../operations/operation.js';
import { views } from '../operations/views.js';
import type { RequestState } from './context.js';
import { sendEvents } from './events.js';
import { requireOutput } from './validate.js';

export type Ctx = ParameterizedContext<RequestState> & { params: Record<string, string> };

/** Aborts when the caller has gone before the answer was sent. */
export const untilLeft = (ctx: Ctx): AbortSignal => {
  const left = new AbortController();
  if (ctx.res.closed) left.abort(); // gone already, while the caller was being recognised
  ctx.res.once('close', () => left.abort());
  return left.signal;
};

const sendBody = (ctx: Ctx, endpoint: EndpointRecord, status: number, body: unknown): void => {
  requireOutput(endpoint, status, body);
  ctx.status = status;
  ctx.res.setHeader('Cache-Control', 'no-store');
  ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8');
  ctx.body = JSON.stringify(body);
};

/** How long the caller wants to wait, and whether its bearer is still good after that. */
interface Patience {
  seconds: number;
  isStillAdmitted: () => Promise<boolean>;
}

const requireStillAdmitted = async (isStillAdmitted: () => Promise<boolean>): Promise<void> => {
  if (!(await isStillAdmitted()))
    throw new ApiError('unauthenticated', 'The token was revoked meanwhile.', { tokenSent: true });
};

/** Waits for the job if the caller prefers so, then renders the rows as they stand. */
const sendRendered = async (
  ctx: Ctx,
  deps: Deps,
  endpoint: EndpointRecord,
  answer: Rendered,
  { seconds, isStillAdmitted }: Patience,
): Promise<void> => {
  const { jobId } = answer.ids;
  let { status, now } = answer;
  if (answer.isReplay === true) ctx.set('Idempotent-Replayed', 'true');
  if (jobId) {
    ctx.state.jobId = jobId;
    ctx.set('Location', `/api/jobs/${jobId}`);
    if (seconds > 0 && (endpoint.job !== undefined || endpoint.waits === true)) {
      ctx.set('Preference-Applied', `wait=${seconds}`);
      const job =
        answer.hasWaited === true
          ? undefined
          : await deps.jobs.watch.untilFinished(jobId, seconds * 1_000, untilLeft(ctx));
      await requireStillAdmitted(isStillAdmitted);
      if (job?.isFinished === true) status = 200;
      now = undefined;
    }
  }
  const render = (): Promise<unknown> => views[answer.view](deps, answer.ids);
  sendBody(ctx, endpoint, status, now ?? (await whileDatabaseAnswers(render)));
};

/** Sends what an operation answered: a body, something to render (after a wait, `seconds`), or events, for as long as the caller is admitted. */
export const send = async (
  ctx: Ctx,
  deps: Deps,
  endpoint: EndpointRecord,
  answer: AnyAnswer,
  patience: Patience,
): Promise<void> => {
  if ('hasWaited' in answer && answer.hasWaited === true) await requireStillAdmitted(patience.isStillAdmitted);
  if ('events' in answer) return sendEvents(ctx, answer.events, { log: deps.log, ...patience });
  if ('view' in answer) return sendRendered(ctx, deps, endpoint, answer, patience);
  sendBody(ctx, endpoint, answer.status, answer.body);
};
