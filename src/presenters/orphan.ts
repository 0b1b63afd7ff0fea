import { heldBackReasons, type Orphan } from '../contract/shapes/orphan.js';
import type { HostOrphan } from '../models/host-orphan.js';
import { toTimestamp } from './timestamp.js';

export const presentOrphan = (orphan: HostOrphan): Orphan => ({
  appName: orphan.appName,
  agentId: orphan.agentId,
  machineIds: orphan.machineIds,
  volumeIds: orphan.volumeIds,
  firstSeenAt: toTimestamp(orphan.firstSeenAt),
  lastSeenAt: toTimestamp(orphan.lastSeenAt),
  reapAt: orphan.reapAt === null ? null : toTimestamp(orphan.reapAt),
  heldBack: orphan.heldBack === null ? null : { code: orphan.heldBack, message: heldBackReasons[orphan.heldBack] },
});
