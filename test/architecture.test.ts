import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import test from 'ava';

/** What a room may import, as a row of the table in docs/architecture.md says it. */
interface Room {
  name: string;
  ours: Allowed[];
  others: Allowed[];
}
interface Allowed {
  name: string;
  typesOnly: boolean;
}
interface Import {
  file: string;
  /** A path of ours, or the name of a package. */
  target: string;
  isOurs: boolean;
  isType: boolean;
}

const namesIn = (cell = ''): Allowed[] =>
  [...cell.matchAll(/`([^`]+)`( \(types\))?/g)].map(([, name = '', types]) => ({
    name,
    typesOnly: types !== undefined,
  }));

const rooms: Room[] = readFileSync('docs/architecture.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| `[^`]+` \|(.*\|){2}$/.test(line))
  .map((line) => {
    const [, room, ours, others] = line.split('|');
    return { name: namesIn(room)[0]?.name ?? '', ours: namesIn(ours), others: namesIn(others) };
  });

const within = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

const roomOf = (path: string): Room | undefined =>
  rooms.filter(({ name }) => within(path, name)).toSorted((a, b) => b.name.length - a.name.length)[0];

const files = ['src', 'workflows', 'activities', 'workers', 'local', 'test', 'bench']
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
  .filter((file) => file.endsWith('.ts'));

const importsOf = (file: string): Import[] => {
  const source = readFileSync(file, 'utf8');
  const statements = source.matchAll(/^(?:import|export) (type )?(?:[^'";]*? from )?'([^']+)'/gm);
  const calls = [...source.matchAll(/\bimport\('([^']+)'\)/g)].map(([, path]) => ['', undefined, path]);
  return [...statements, ...calls].map(([, type, path = '']) => {
    const isOurs = path.startsWith('.');
    const target = isOurs ? normalize(join(file, '..', path)).replace(/\.js$/, '.ts') : packageOf(path);
    return { file, target, isOurs, isType: type !== undefined };
  });
};

const packageOf = (path: string): string =>
  path.startsWith('node:')
    ? 'node:*'
    : path
        .split('/')
        .slice(0, path.startsWith('@') ? 2 : 1)
        .join('/');

/** The rule that an import breaks, or undefined. */
const broken = ({ file, target, isOurs, isType }: Import): string | undefined => {
  const room = roomOf(file);
  if (!room) return `${file} is in no room of the table`;
  const name = isOurs ? (roomOf(target)?.name ?? target) : target;
  if (name === room.name) return undefined;
  const rule = (isOurs ? room.ours : room.others).find((allowed) => allowed.name === name || allowed.name === '*');
  if (rule && (isType || !rule.typesOnly)) return undefined;
  return `${file} imports ${target}: ${room.name} may ${rule ? 'import only types of' : 'not import'} ${name}`;
};

const notOf = (found: (string | undefined)[]): string[] => found.filter((one) => one !== undefined);

test('every import is one that the table in docs/architecture.md allows', (t) => {
  t.true(rooms.length > 15, 'the table can be read');
  t.deepEqual(notOf(files.flatMap((file) => importsOf(file).map(broken))), []);
});

test('no operation imports the operation of another resource', (t) => {
  const resource = (path: string): string | undefined => /^src\/operations\/([^/]+)\//.exec(path)?.[1];
  const crossing = files.flatMap(importsOf).filter(({ file, target }) => {
    const [from, to] = [resource(file), resource(target)];
    return from !== undefined && to !== undefined && from !== to;
  });
  t.deepEqual(crossing, []);
});

test('only src/config.ts reads the environment of the product', (t) => {
  const reading = files
    .filter((file) => /^(src|workflows|activities|workers)\//.test(file))
    .filter((file) => /\bprocess\.env\b/.test(readFileSync(file, 'utf8')));
  t.deepEqual(reading, ['src/config.ts']);
});
