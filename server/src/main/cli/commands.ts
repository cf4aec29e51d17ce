import { userInfo } from 'node:os';
import { createKey, listKeys, overlaps, revokeKey, rollKeyById, wakeKey } from '../../api/keys/keys.ts';
import { findOwner } from '../../api/transfers/draft.sql.ts';
import { isPermission, permissions } from '../../ground/permissions.ts';
import { isPrintable } from '../../ground/printable.ts';
import { parseQuotas } from '../../ground/quotas.ts';
import { pixKeyTypeNames } from '../../kinds/transfer/pix-key.ts';
import { ratesOf, setRates, withDefaults } from '../../operate/accounts/rates.ts';
import {
  type ReturnRule,
  returnOddMoney,
  returnRuleOf,
  setReturnRule,
} from '../../operate/accounts/return-rule.ts';
import { showConnection } from '../../operate/connections/connections.ts';
import { createAccount, listAccounts } from '../../operate/connections/directory.ts';
import type { PendingMigration } from '../../store/database/migrate.ts';
import { OperatorRefused } from '../../store/operator.ts';
import {
  type Edge,
  migrateAlone,
  onDatabase,
  planOfMigrate,
  start,
  startPart,
  startSimulator,
} from '../start.ts';
import { cellCommands, cellOfNewAccount } from './cell-commands.ts';
import { checkCommand } from './check-command.ts';
import { closeCommand } from './close-command.ts';
import {
  type Command,
  type CommandInput,
  choice,
  instant,
  integer,
  required,
  table,
  UsageFault,
  uuid,
} from './command.ts';
import { connectionCommands } from './connection-commands.ts';
import { consoleCommands } from './console-commands.ts';
import { doctorCommand } from './doctor-command.ts';
import { findCommands } from './find-commands.ts';
import { cellsOf, onAccount, onCellWith, onKey } from './in-cells.ts';
import { noticeCommands } from './notice-commands.ts';
import { oddMoneyCommand } from './odd-money-command.ts';
import { operatorCommands, operatorOf } from './operator-commands.ts';
import { memberCommands } from './panel-commands.ts';
import { requestCommands } from './second-person.ts';
import { secretCommands } from './secret-commands.ts';
import { subjectCommands } from './subject-commands.ts';

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
    usage: '[--plan]',
    about:
      'brings the database up to date; --plan lists what it would apply, with the locks, and changes nothing',
    options: { plan: { type: 'boolean' } },
    run: async (edge, { values }) => {
      if (values.plan === true) {
        const pending = await planOfMigrate(edge);
        return { json: { pending }, text: table(pending.map(planLine), 'up to date') };
      }
      const { applied } = await migrateAlone(edge);
      return { json: { applied }, text: applied.length > 0 ? `applied ${applied.join(', ')}` : 'up to date' };
    },
  },
  checkCommand,
  doctorCommand,
  closeCommand,
  {
    name: 'account create',
    usage: '--name NAME [--test | --connection N] [--cell CELL]',
    about:
      'an account with its main operation; --test binds it to the simulator. Without --cell it stands in the open cell with the fewest accounts',
    options: {
      name: { type: 'string' },
      test: { type: 'boolean' },
      connection: { type: 'string' },
      cell: { type: 'string' },
    },
    run: async (edge, { values }) => {
      const name = required(values, 'name').normalize('NFC').trim();
      if ([...name].length < 2 || [...name].length > 64 || !isPrintable(name)) {
        throw new UsageFault('--name takes 2 to 64 characters');
      }
      const named = typeof values.connection === 'string' ? values.connection : null;
      const test = values.test === true;
      const cell = typeof values.cell === 'string' ? values.cell : null;
      if (named !== null) {
        const made = await onDatabase(edge, 'account create', async (context) => {
          const row = await showConnection(context, named);
          if (test && !row.test) throw new OperatorRefused(`${named} moves money: leave --test out`);
          const account = { name, test: row.test, connection: named };
          return createAccount(await cellOfNewAccount(context, cell), account, operatorOf(context).actor);
        });
        return { json: made, text: `account ${made.ownerId}\noperation ${made.operationId}` };
      }
      if (!test && edge.config.provider === null) {
        throw new UsageFault(
          'without a live provider (PROVIDER) only test accounts can be created: add --test, or name a connection (--connection)',
        );
      }
      const connection = test ? 'simulator' : 'live';
      const created = await onDatabase(edge, 'account create', async (context) =>
        createAccount(
          await cellOfNewAccount(context, cell),
          { name, test, connection },
          operatorOf(context).actor,
        ),
      );
      return { json: created, text: `account ${created.ownerId}\noperation ${created.operationId}` };
    },
  },
  {
    name: 'account list',
    about: 'every account, oldest first',
    run: async (edge) => {
      const rows = await onDatabase(edge, 'account list', async (context) => {
        const ofCells = await Promise.all((await cellsOf(context)).map(({ sql }) => listAccounts(sql)));
        return ofCells.flat().sort((one, other) => one.createdAt - other.createdAt);
      });
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
          ['account', 'mode', 'state', 'name'],
        ),
      };
    },
  },
  {
    name: 'account returns',
    usage: `OWNER_ID [--odd-money ${returnOddMoney.join('|')}] [--after-minutes N]`,
    about: 'which money in suspense goes back to its payers by itself, and after how long',
    options: { 'odd-money': { type: 'string' }, 'after-minutes': { type: 'string' } },
    operands: ['OWNER_ID'],
    run: async (edge, { values, operands }) => {
      const accountId = uuid(operands[0] as string, 'OWNER_ID');
      const change = returnRuleFrom(values);
      const rule = await onAccount(edge, 'account returns', accountId, (context) =>
        Object.keys(change).length > 0
          ? setReturnRule({ ...context, actor: userInfo().username }, accountId, change)
          : returnRuleOf(context, accountId),
      );
      const after = rule.returnOddMoney === 'never' ? '' : ` after ${rule.afterMinutes} minutes`;
      return { json: { ownerId: accountId, ...rule }, text: `${rule.returnOddMoney}${after}` };
    },
  },
  oddMoneyCommand,
  {
    name: 'account rates',
    usage: 'OWNER_ID [--set reads=200/400,transfers=20/40|default]',
    about: 'the rate limits of an account: calls a second / at once; --set replaces its own ones',
    options: { set: { type: 'string' } },
    operands: ['OWNER_ID'],
    run: async (edge, { values, operands }) => {
      const accountId = uuid(operands[0] as string, 'OWNER_ID');
      const { set } = values;
      const wanted = typeof set !== 'string' ? undefined : set === 'default' ? {} : parseQuotas(set);
      if (wanted === null) throw new UsageFault('--set takes default, or a list like reads=200/400');
      const own = await onAccount(edge, 'account rates', accountId, (context) =>
        wanted
          ? setRates({ ...context, actor: userInfo().username }, accountId, wanted)
          : ratesOf(context, accountId),
      );
      const rates = withDefaults(edge.config.rateQuotas, own);
      const rows = Object.entries(rates).map(([name, rate]) => [
        name,
        'perSecond' in rate ? rateText(rate.perSecond) : '',
        `${'burst' in rate ? rate.burst : rate.atOnce} at once`,
        Object.hasOwn(own, name) ? 'own' : '',
      ]);
      return { json: { ownerId: accountId, own, rates }, text: table(rows, '') };
    },
  },
  {
    name: 'key create',
    usage: `--account OWNER_ID --name NAME --permissions ${permissions.join(',')} [--expires-in-days N] [--ips ADDRESS,NETWORK]`,
    about: 'an API key; it is shown this once and never again',
    options: {
      account: { type: 'string' },
      name: { type: 'string' },
      permissions: { type: 'string' },
      'expires-in-days': { type: 'string' },
      ips: { type: 'string' },
    },
    run: async (edge, { values }) => {
      const accountId = uuid(required(values, 'account'), '--account');
      const name = required(values, 'name');
      const wanted = required(values, 'permissions').split(',');
      const unknown = wanted.find((each) => !isPermission(each));
      if (unknown !== undefined) {
        throw new UsageFault(`--permissions takes ${permissions.join(', ')}, not ${unknown || 'nothing'}`);
      }
      const days = values['expires-in-days'];
      const expiresInDays = days === undefined ? undefined : Number(days);
      const ips = typeof values.ips === 'string' ? values.ips.split(',') : undefined;
      const made = await onAccount(edge, 'key create', accountId, (context) =>
        createKey(context, { accountId, name, permissions: wanted.filter(isPermission), expiresInDays, ips }),
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
      const rows = await onAccount(edge, 'key list', accountId, (context) => listKeys(context, accountId));
      const keys = rows.map((row) => ({
        ...row,
        createdAt: instant(row.createdAt),
        expiresAt: instant(row.expiresAt),
        revokedAt: instant(row.revokedAt),
        lastUsedAt: instant(row.lastUsedAt),
        wokenAt: instant(row.wokenAt),
      }));
      return {
        json: { keys },
        text: table(
          keys.map((key) => [key.id, stateOfKey(key, edge.clock.now()), key.permissions.join(','), key.name]),
          'no keys',
          ['key', 'state', 'permissions', 'name'],
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
      await onKey(edge, 'key revoke', id, (context) => revokeKey(context, id));
      return { json: { id, revoked: true }, text: `revoked ${id}` };
    },
  },
  {
    name: 'key roll',
    usage: `ID [--overlap ${Object.keys(overlaps).join('|')}]`,
    about: 'a key like another one, which ends after the overlap (24h); the new key is shown this once',
    options: { overlap: { type: 'string' } },
    operands: ['ID'],
    run: async (edge, { values, operands }) => {
      const [id] = operands as [string];
      const overlap = String(values.overlap ?? '24h');
      if (!isOverlap(overlap)) {
        throw new UsageFault(`--overlap takes ${Object.keys(overlaps).join(', ')}`);
      }
      const made = await onKey(edge, 'key roll', id, (context) =>
        rollKeyById(context, id, overlaps[overlap]),
      );
      return { json: { id: made.id, key: made.key }, text: `id ${made.id}\nkey ${made.key}` };
    },
  },
  {
    name: 'key wake',
    usage: 'ID',
    about: 'a key that may send money and was not used for 180 days rests; this lets it work again',
    operands: ['ID'],
    run: async (edge, { operands }) => {
      const [id] = operands as [string];
      await onKey(edge, 'key wake', id, (context) => wakeKey(context, id));
      return { json: { id, awake: true }, text: `awake ${id}` };
    },
  },
  {
    name: 'transfer draft',
    usage:
      '--operation ID --amount-cents N --pix-key KEY --pix-key-type TYPE --description TEXT --email ADDRESS',
    about:
      'a transfer that waits for the code that is mailed to ADDRESS; confirmed or cancelled over the API',
    options: {
      operation: { type: 'string' },
      'amount-cents': { type: 'string' },
      'pix-key': { type: 'string' },
      'pix-key-type': { type: 'string' },
      description: { type: 'string' },
      email: { type: 'string' },
    },
    run: async (edge, { values }) => {
      const operationId = uuid(required(values, 'operation'), '--operation');
      const wanted = {
        amountCents: integer(required(values, 'amount-cents'), '--amount-cents'),
        pixKey: required(values, 'pix-key'),
        pixKeyType: choice(required(values, 'pix-key-type'), '--pix-key-type', Object.keys(pixKeyTypeNames)),
        description: typeof values.description === 'string' ? values.description : '',
        email: required(values, 'email'),
      };
      const made = await onCellWith(
        edge,
        'transfer draft',
        (sql) => findOwner(sql, operationId),
        async (context) => {
          const { draftOfCommand } = await import('../../api/transfers/draft-command.ts');
          return draftOfCommand(context, operationId, wanted);
        },
      );
      return { json: made, text: `draft ${made.id}\nthe code is on its way to ${wanted.email}` };
    },
  },
  ...operatorCommands,
  ...findCommands,
  ...requestCommands,
  ...cellCommands,
  ...memberCommands,
  ...consoleCommands,
  ...noticeCommands,
  ...connectionCommands,
  ...secretCommands,
  ...subjectCommands,
];

const planLine = ({ name, locks, readsRowsOf, concurrent, compatibleFrom }: PendingMigration): string[] => [
  name,
  concurrent ? 'concurrent' : 'in a transaction',
  compatibleFrom === null ? 'this program only' : `works with ${compatibleFrom} or later`,
  locks.length > 0 ? locks.join(', ') : 'no locks on existing tables',
  readsRowsOf.length > 0 ? `reads every row of ${readsRowsOf.join(', ')}` : '',
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

function returnRuleFrom(values: CommandInput['values']): Partial<ReturnRule> {
  const { 'odd-money': wanted, 'after-minutes': minutes } = values;
  const rule = returnOddMoney.find((one) => one === wanted);
  if (wanted !== undefined && !rule) throw new UsageFault(`--odd-money takes ${returnOddMoney.join(', ')}`);
  return {
    ...(rule && { returnOddMoney: rule }),
    ...(typeof minutes === 'string' && { afterMinutes: integer(minutes, '--after-minutes') }),
  };
}

/** `200 a second`, or `30 an hour` for a rate below one a second. */
function rateText(perSecond: number): string {
  const [count, unit] =
    perSecond >= 1
      ? [perSecond, 'a second']
      : perSecond * 60 >= 1
        ? [perSecond * 60, 'a minute']
        : [perSecond * 3600, 'an hour'];
  return `${Math.round(count * 100) / 100} ${unit}`;
}

const isOverlap = (text: string): text is keyof typeof overlaps => Object.hasOwn(overlaps, text);

function stateOfKey(key: { revokedAt: string | null; expiresAt: string | null }, now: number): string {
  if (key.revokedAt !== null) return 'revoked';
  if (key.expiresAt === null) return 'active';
  return Date.parse(key.expiresAt) <= now ? 'expired' : `until ${key.expiresAt}`;
}
