import { endpoint } from '../endpoint.js';
import { User, UserChanges } from '../shapes/user.js';

export const users = [
  endpoint({
    id: 'users.me',
    http: 'GET /api/users/me',
    auth: 'user',
    title: 'Read the own profile',
    about: 'Who the caller is, the plan in force and the role.',
    input: {},
    output: { 200: User },
    errors: [],
    effect: 'read',
    names: { tool: 'auth_whoami', command: 'users me', task: 'users.me' },
  }),
  endpoint({
    id: 'users.update',
    http: 'PATCH /api/users/me',
    auth: 'user',
    scope: '*',
    title: 'Update the own profile',
    about: 'Changes name and email. What is written here is kept when the identity provider says otherwise later.',
    input: { body: UserChanges },
    output: { 200: User },
    errors: [],
    effect: 'write',
    names: { tool: false, command: 'users update', task: 'users.update' },
  }),
] as const;
