import type { User as UserResource } from '../contract/shapes/user.js';
import type { User } from '../models/user.js';
import { toTimestamp } from './timestamp.js';

export const presentUser = (user: User, plan: string, isOperator: boolean): UserResource => ({
  id: user.id,
  email: user.email,
  name: user.name,
  plan,
  role: isOperator ? 'operator' : 'user',
  createdAt: toTimestamp(user.createdAt),
  updatedAt: toTimestamp(user.updatedAt),
});
