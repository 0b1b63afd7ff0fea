import { z } from 'zod';
import { Id, Name, Timestamp } from '../common.js';

export const User = z
  .strictObject({
    id: Id('user'),
    email: z.string(),
    name: z.string(),
    plan: z.string(),
    role: z.enum(['user', 'operator']),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'User' });
export type User = z.infer<typeof User>;

export const UserChanges = z.strictObject({ name: Name(200), email: z.email().max(320) }).partial();
