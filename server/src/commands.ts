import type { ParseArgsConfig } from 'node:util';
import { createAccount, listAccounts } from './accounts/directory.ts';
import { createKey, listKeys, revokeKey } from './keys/keys.ts';
import { isPermission, permissions } from './keys/permissions.ts';
import { type Edge, migrateAlone, onDatabase, start, startPart, startSimulator } from './start.ts';

export interface Command {
  /** One or two words. */
  name: string;
  /** What follows the name. */
  usage?: string;
  about: string;
  options?: NonNullable<ParseArgsConfig['options']>;
  /** Names of what must stand without a dash. */
  operands?: string[];
  /** Runs until a signal ends it. */
  lasts?: boolean;
  run(edge: Edge, input: CommandInput, ending: AbortSignal): Promise<Answer | undefined>;
}

export interface CommandInput {
  values: Record<string, string | boolean | undefined>;
  operands: string[];
}

export interface Answer {
  /** With `--json`. */
  json: unknown;
  /** Without. */
  text: string;
  exitCode?: number;
}

/** Wrong usage: exit code 2. */
export class UsageFault extends Error {
  override name = 'UsageFault';
}

/** Every command: to add one is to add an entry. */
export const commands: Command[] = [
  lasting('start', 'everything: database, simulator, service and workers, until Ctrl-C', (edge, ending) =>
    start(edge, ending),
  ),
  lasting(
    'api',
    'the HTTP service alone, on the database of a running `start` or DATABASE_URL',
    (edge, ending) => startPart(edge, ending, 'api'),
  ),
  lasting(
    'worker',
    'the workers alone, on the database of a running `start` or DATABASE_URL',
    (edge, ending) => startPart(edge, ending, 'worker'),
  ),
  lasting('simulator', 'the provider simulator alone', (edge, ending) => startSimulator(edge, ending)),
  {
    name: 'migrate',
    about: 'brings the database up to date',
    run: async (edge) => {
      const { applied } = await migrateAlone(edge);
      return { json: { applied }, text: applied.length > 0 ? `applied ${applied.join(', ')}` : 'up to date' };
    },
  },
  {
    name: 'account create',
    usage: '--name NAME [--test]',
    about: 'an account with its main operation; --test binds it to the simulator',
    options: { name: { type: 'string' }, test: { type: 'boolean' } },
    run: async (edge, { values }) => {
      const name = required(values, 'name').normalize('NFC').trim();
      if ([...name].length < 2 || [...name].length > 64 || /[\p{Cc}\p{Cs}]/u.test(name)) {
        throw new UsageFault('--name takes 2 to 64 characters');
      }
      const test = values.test === true;
      if (!test && edge.config.provider === null) {
        throw new UsageFault(
          'without a live provider (PROVIDER) only test accounts can be created: add --test',
        );
      }
      const connection = test ? 'simulator' : 'live';
      const created = await onDatabase(edge, 'account create', (context) =>
        createAccount(context, { name, test, connection }),
      );
      return { json: created, text: `account ${created.ownerId}\noperation ${created.operationId}` };
    },
  },
  {
    name: 'account list',
    about: 'every account, oldest first',
    run: async (edge) => {
      const rows = await onDatabase(edge, 'account list', ({ sql }) => listAccounts(sql));
      const accounts = rows.map((row) => ({ ...row, createdAt: instant(row.createdAt) }));
      return {
        json: { accounts },
        text: table(
          accounts.map(({ ownerId, name, test, enabled }) => [
            ownerId,
            test ? 'test' : 'live',
            enabled ? 'enabled' : 'disabled',
            name,
          ]),
          'no accounts',
        ),
      };
    },
  },
  {
    name: 'key create',
    usage: `--account OWNER_ID --name NAME --permissions ${permissions.join(',')}`,
    about: 'an API key; it is shown this once and never again',
    options: { account: { type: 'string' }, name: { type: 'string' }, permissions: { type: 'string' } },
    run: async (edge, { values }) => {
      const accountId = uuid(required(values, 'account'), '--account');
      const name = required(values, 'name');
      const wanted = required(values, 'permissions').split(',');
      const unknown = wanted.find((each) => !isPermission(each));
      if (unknown !== undefined) {
        throw new UsageFault(`--permissions takes ${permissions.join(', ')}, not ${unknown || 'nothing'}`);
      }
      const made = await onDatabase(edge, 'key create', (context) =>
        createKey(context, { accountId, name, permissions: wanted.filter(isPermission) }),
      );
      return { json: { id: made.id, key: made.key }, text: `id ${made.id}\nkey ${made.key}` };
    },
  },
  {
    name: 'key list',
    usage: '--account OWNER_ID',
    about: 'the keys of an account, revoked ones included',
    options: { account: { type: 'string' } },
    run: async (edge, { values }) => {
      const accountId = uuid(required(values, 'account'), '--account');
      const rows = await onDatabase(edge, 'key list', (context) => listKeys(context, accountId));
      const keys = rows.map((row) => ({
        ...row,
        createdAt: instant(row.createdAt),
        expiresAt: instant(row.expiresAt),
        revokedAt: instant(row.revokedAt),
        lastUsedAt: instant(row.lastUsedAt),
      }));
      return {
        json: { keys },
        text: table(
          keys.map((key) => [
            key.id,
            key.revokedAt === null ? 'active' : 'revoked',
            key.permissions.join(','),
            key.name,
          ]),
          'no keys',
        ),
      };
    },
  },
  {
    name: 'key revoke',
    usage: 'ID',
    about: 'ends a key: no call that moves money is accepted with it any more, reads end within a second',
    operands: ['ID'],
    run: async (edge, { operands }) => {
      const [id] = operands as [string];
      await onDatabase(edge, 'key revoke', (context) => revokeKey(context, id));
      return { json: { id, revoked: true }, text: `revoked ${id}` };
    },
  },
];

function lasting(
  name: string,
  about: string,
  run: (edge: Edge, ending: AbortSignal) => Promise<void>,
): Command {
  return {
    name,
    about,
    lasts: true,
    run: async (edge, _input, ending) => {
      await run(edge, ending);
      return undefined;
    },
  };
}

function required(values: CommandInput['values'], name: string): string {
  const value = values[name];
  if (typeof value !== 'string' || value === '') throw new UsageFault(`--${name} is missing`);
  return value;
}

function uuid(text: string, what: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text))
    throw new UsageFault(`${what} takes a UUID`);
  return text.toLowerCase();
}

function instant(ms: number): string;
function instant(ms: number | null): string | null;
function instant(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** Columns of equal width; the last one as it is. */
function table(rows: string[][], empty: string): string {
  if (rows.length === 0) return empty;
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
