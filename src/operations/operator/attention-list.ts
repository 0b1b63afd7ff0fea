import { Agent } from '../../models/agent.js';
import { listAttention } from '../../models/attention.js';
import { listOrphans } from '../../models/host-orphan.js';
import { presentJobForOperator } from '../../presenters/job.js';
import { presentOrphan } from '../../presenters/orphan.js';
import { adviceForOperator } from '../../rules/job-advice.js';
import { DEFAULT_LIMIT, fromCursor, toPage } from '../cursor.js';
import type { Operation } from '../operation.js';

const MOST_ORPHANS = 100;

export const attentionList: Operation<'operator.attention.list'> = async ({ db }, { query }) => {
  const limit = query.limit ?? DEFAULT_LIMIT;
  const { rows, nextCursor } = toPage(await listAttention(db, limit + 1, fromCursor(query.cursor)), limit);
  const agents = await Agent.query(db).findByIds(rows.flatMap((job) => job.agentId ?? []));
  const byId = new Map(agents.map(({ id, name, status, userId }) => [id, { id, name, status, userId }]));
  const attention = rows.map((job) => ({
    job: presentJobForOperator(job),
    advice: adviceForOperator(job.kind, job.error?.code ?? ''),
    agent: byId.get(job.agentId ?? '') ?? null,
  }));
  const orphans = (await listOrphans(db, MOST_ORPHANS)).map(presentOrphan);
  return { status: 200, body: { attention, nextCursor, orphans } };
};
