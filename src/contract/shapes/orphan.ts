import { z } from 'zod';
import { Timestamp } from '../common.js';

/** What keeps an orphan from being reaped; docs/lifecycle.md says what an operator does about each. */
export const heldBackReasons = {
  reporting_only: 'Reaping is switched off',
  too_many: 'There are so many orphans that the database is in doubt',
  name_not_ours: 'The app has a name that this installation would not have given',
  no_record: 'The database knows nothing of the agent, and its app holds a volume',
  job_unfinished: 'A job of the agent has not ended',
  host_disagrees: 'A fresh look at the app shows something that is not ours',
} as const;
export type HeldBack = keyof typeof heldBackReasons;

export const Orphan = z
  .strictObject({
    appName: z.string(),
    agentId: z.string().nullable().describe('By the tags of its machine or the name of its volume'),
    machineIds: z.array(z.string()),
    volumeIds: z.array(z.string()),
    firstSeenAt: Timestamp,
    lastSeenAt: Timestamp,
    reapAt: Timestamp.nullable().describe('Not before then; null while it is held back'),
    heldBack: z
      .strictObject({ code: z.string().describe('A later release may add codes'), message: z.string() })
      .nullable()
      .describe('Why it is not reaped'),
  })
  .meta({ id: 'Orphan' });
export type Orphan = z.infer<typeof Orphan>;
