import { readFile } from 'node:fs/promises';
import { priceOf } from '../../ground/money.ts';
import { bookMovement, listMovements } from '../../operate/book-movement.ts';
import type { Mode } from '../../operate/connections/connections.sql.ts';
import {
  type ConnectionDeps,
  type ConnectionView,
  createConnection,
  listConnections,
  moveAccount,
  restoreCredentials,
  retireConnection,
  rotateCredentials,
  routeCharges,
  setConnection,
  showConnection,
  testConnection,
} from '../../operate/connections/connections.ts';
import { setHolder } from '../../operate/connections/holders.ts';
import { routePayouts, takePayoutAsOwn } from '../../operate/connections/payouts.ts';
import { dayOf, startOfDay } from '../../operate/statement/period.ts';
import { encodingFault, textOf } from '../../ports/outside-text.ts';
import { CredentialFault } from '../../provider/adapter.ts';
import { adapterNames } from '../../provider/registry/adapters.ts';
import { OperatorRefused } from '../../store/operator.ts';
import { findCashInTransit } from '../../store/rows/cash-transfers.sql.ts';
import { type Context, type Edge, onDatabase } from '../start.ts';
import {
  type Answer,
  type Command,
  type CommandInput,
  choice,
  facts,
  instant,
  integer,
  required,
  table,
  UsageFault,
  uuid,
} from './command.ts';
import { dryRunOption, posting } from './dry-run.ts';
import { onAccount } from './in-cells.ts';
import { operatorOf } from './operator-commands.ts';

const credentialOptions = {
  credentials: { type: 'string' },
  certificate: { type: 'string' },
  'certificate-key': { type: 'string' },
} as const;

const credentialUsage = '[--credentials FILE|-] [--certificate FILE] [--certificate-key FILE]';

/** Accounts of the company at providers. Credentials come from files or standard input, never from arguments. */
export const connectionCommands: Command[] = [
  {
    name: 'connection create',
    usage: `--name N --adapter ${adapterNames.join('|')} [--mode shared|own] [--url U] ${credentialUsage} [--simulator|--sandbox]`,
    about:
      "an account at a provider, stored once the provider has accepted the credentials; --simulator: this installation's simulator, --sandbox: the provider's own test environment, both for test accounts alone",
    options: {
      name: { type: 'string' },
      adapter: { type: 'string' },
      mode: { type: 'string' },
      url: { type: 'string' },
      simulator: { type: 'boolean' },
      sandbox: { type: 'boolean' },
      ...credentialOptions,
    },
    run: async (edge, { values }) => {
      const simulated = values.simulator === true;
      if (simulated && values.credentials !== undefined)
        throw new UsageFault('--simulator makes its own credentials');
      if (simulated && values.sandbox === true)
        throw new UsageFault('--simulator and --sandbox are two environments: give one');
      const wanted = {
        name: required(values, 'name'),
        adapter: choice(required(values, 'adapter'), '--adapter', adapterNames),
        mode: modeOf(values.mode) ?? 'shared',
        url: typeof values.url === 'string' ? values.url : null,
        credentials: simulated ? null : await credentialsOf(values),
        simulated,
        sandbox: values.sandbox === true,
      };
      return answer(await withProviders(edge, 'connection create', (deps) => createConnection(deps, wanted)));
    },
  },
  {
    name: 'connection list',
    about: 'every connection, with its mode, its accounts and when its certificate ends',
    run: async (edge) => {
      const connections = (await onDatabase(edge, 'connection list', listConnections)).map(shown);
      const rows = connections.map((one) => [
        one.name,
        one.adapter,
        one.mode,
        one.heldSince === undefined ? one.state : `held since ${one.heldSince}`,
        one.environment,
        `${one.accounts} accounts`,
        one.certificateExpiresAt ?? '-',
      ]);
      return { json: { connections }, text: table(rows, 'no connections', connectionColumns) };
    },
  },
  {
    name: 'connection show',
    usage: 'NAME',
    about: 'one connection; credentials are never shown',
    operands: ['NAME'],
    run: async (edge, { operands: [name = ''] }) =>
      answer(await onDatabase(edge, 'connection show', (context) => showConnection(context, name))),
  },
  {
    name: 'connection test',
    usage: 'NAME',
    about: 'asks the provider whether it accepts the credentials; exit code 1 when it does not',
    operands: ['NAME'],
    run: async (edge, { operands: [name = ''] }) => {
      const { findings, ...view } = await withProviders(edge, 'connection test', (deps) =>
        testConnection(deps, name),
      );
      const rows = findings.map(({ check, ok, message, action }) => [
        ok ? 'ok' : 'FAULT',
        check,
        action === undefined || ok ? message : `${message}; ${action}`,
      ]);
      return {
        json: { ...shown(view), findings },
        text: table(rows, 'the provider said nothing'),
        exitCode: findings.every(({ ok }) => ok) ? 0 : 1,
      };
    },
  },
  {
    name: 'connection set',
    usage: 'NAME [--mode shared|own] [--url U]',
    about: 'changes how a connection is used; running processes take it up by themselves',
    options: { mode: { type: 'string' }, url: { type: 'string' } },
    operands: ['NAME'],
    run: async (edge, { values, operands: [name = ''] }) => {
      const mode = modeOf(values.mode);
      const wanted = { ...(mode && { mode }), ...(typeof values.url === 'string' && { url: values.url }) };
      if (Object.keys(wanted).length === 0) throw new UsageFault('needs something to change');
      return answer(await withProviders(edge, 'connection set', (deps) => setConnection(deps, name, wanted)));
    },
  },
  {
    name: 'connection rotate',
    usage: `NAME ${credentialUsage} [--back]`,
    about:
      'other credentials or another certificate, once the provider has accepted them; those before stay at hand, and --back returns to them',
    options: { ...credentialOptions, back: { type: 'boolean' } },
    operands: ['NAME'],
    run: async (edge, { values, operands: [name = ''] }) => {
      if (values.back === true)
        return answer(
          await withProviders(edge, 'connection rotate', (deps) => restoreCredentials(deps, name)),
        );
      const file = await credentialsOf(values);
      return answer(
        await withProviders(edge, 'connection rotate', (deps) => rotateCredentials(deps, name, file)),
      );
    },
  },
  {
    name: 'connection holder',
    usage: 'NAME --cnpj CNPJ|none',
    about:
      'says whose account it is at the provider, so that check and doctor name accounts of another company',
    options: { cnpj: { type: 'string' } },
    operands: ['NAME'],
    run: async (edge, { values, operands: [name = ''] }) => {
      const given = required(values, 'cnpj');
      const json = await onDatabase(edge, 'connection holder', (context) =>
        setHolder(operatorOf(context), name, given === 'none' ? null : given),
      );
      return { json, text: `${json.connection}: held by ${json.holderCnpj ?? 'nobody that is known'}` };
    },
  },
  {
    name: 'connection retire',
    usage: 'NAME',
    about: 'binds no account any more; what is open on it is followed to its end',
    operands: ['NAME'],
    run: async (edge, { operands: [name = ''] }) =>
      answer(await withProviders(edge, 'connection retire', (deps) => retireConnection(deps, name))),
  },
  bookCommand(
    'cost',
    'connection cost',
    'books a cost of the provider that none of its reports names; below zero: it gave some back',
  ),
  bookCommand(
    'own',
    'connection own-money',
    "books money of the company that came into the provider's account; below zero: it left",
  ),
  {
    name: 'connection pays-out-to',
    usage: 'NAME --to NAME|none',
    about:
      'says at which connection arrives what this acquirer pays out from now on; none: at an account of the company that no connection is for',
    options: { to: { type: 'string' } },
    operands: ['NAME'],
    run: async (edge, { values, operands: [name = ''] }) => {
      const given = required(values, 'to');
      const json = await onDatabase(edge, 'connection pays-out-to', (context) =>
        routePayouts(operatorOf(context), name, given === 'none' ? null : given),
      );
      return { json, text: `${name}: pays out to ${json.toConnection ?? 'an account without a connection'}` };
    },
  },
  {
    name: 'connection payouts',
    usage: 'NAME',
    about: 'what this acquirer paid out and what has not arrived yet, the oldest first',
    operands: ['NAME'],
    run: async (edge, { operands: [name = ''] }) => {
      const payouts = await onDatabase(edge, 'connection payouts', ({ sql }) => findCashInTransit(sql, name));
      const rows = payouts.map((one) => [
        one.reference,
        priceOf(one.amountCents),
        `to ${one.toConnection}`,
        `left ${new Date(one.leftAt).toISOString()}`,
        `due ${new Date(one.dueAt).toISOString()}`,
      ]);
      return { json: { connection: name, payouts }, text: table(rows, 'none') };
    },
  },
  {
    name: 'connection payout-own',
    usage: 'NAME --payout ID --reason R [--dry-run]',
    about:
      "a payout of this acquirer went elsewhere, or arrived as another amount: from now on it is the company's own money",
    options: { payout: { type: 'string' }, reason: { type: 'string' }, ...dryRunOption },
    operands: ['NAME'],
    run: async (edge, { values, operands: [connection = ''] }) => {
      const wanted = {
        connection,
        reference: required(values, 'payout'),
        reason: required(values, 'reason'),
      };
      return onDatabase(edge, 'connection payout-own', (context) =>
        posting(
          values,
          operatorOf(context),
          (operator) => takePayoutAsOwn(operator, wanted),
          (json) => ({
            json,
            text: `${connection}: ${priceOf(json.amountCents)} of ${json.reference} is the company's own`,
          }),
        ),
      );
    },
  },
  {
    name: 'connection movements',
    usage: 'NAME [--from YYYY-MM-DD] [--to YYYY-MM-DD]',
    about:
      "costs of the provider and the company's own money at a connection, a line for each day (default: the last 31 days)",
    options: { from: { type: 'string' }, to: { type: 'string' } },
    operands: ['NAME'],
    run: async (edge, { values, operands: [name = ''] }) => {
      const now = edge.clock.now();
      const to = dayOption(values.to, '--to') ?? dayOf(now);
      const from = dayOption(values.from, '--from') ?? dayOf(now - 30 * 86_400_000);
      const window = { fromMs: startOfDay(from), toMs: startOfDay(to, 1) };
      const days = await onDatabase(edge, 'connection movements', (context) =>
        listMovements(context, name, window),
      );
      const rows = days.map((one) => [
        one.day,
        { cost: 'costs', own: 'own money', cash: 'cash to another connection' }[one.kind],
        `in ${priceOf(one.inCents)}`,
        `out ${priceOf(one.outCents)}`,
        `${one.count} movements`,
        one.unposted === 0 ? '' : `${one.unposted} not posted yet`,
      ]);
      return { json: { connection: name, from, to, days }, text: table(rows, 'none') };
    },
  },
  {
    name: 'account route',
    usage: 'OWNER_ID --charges N,N|none',
    about:
      'the connections that new charges go to, in this order, while its own one is down and nothing was sent there; transfers never do',
    options: { charges: { type: 'string' } },
    operands: ['OWNER_ID'],
    run: async (edge, { values, operands }) => {
      const accountId = uuid(operands[0] as string, 'OWNER_ID');
      const given = required(values, 'charges');
      const names = given === 'none' ? [] : given.split(',');
      const json = await onAccount(edge, 'account route', accountId, (context) =>
        routeCharges(operatorOf(context), accountId, names),
      );
      return { json, text: `charges of ${accountId} go to ${[json.connection, ...names].join(', then ')}` };
    },
  },
  {
    name: 'account move',
    usage: 'OWNER_ID --connection N',
    about: 'binds an account that has nothing open to another connection, for new payments',
    options: { connection: { type: 'string' } },
    operands: ['OWNER_ID'],
    run: async (edge, { values, operands }) => {
      const accountId = uuid(operands[0] as string, 'OWNER_ID');
      const name = required(values, 'connection');
      const json = await onAccount(edge, 'account move', accountId, (context) =>
        moveAccount(operatorOf(context), accountId, name),
      );
      return { json, text: `account ${accountId} is bound to ${name}` };
    },
  },
];

function bookCommand(kind: 'cost' | 'own', name: string, about: string): Command {
  return {
    name,
    usage: 'NAME --amount-cents N --request-key K --reason R [--day YYYY-MM-DD] [--dry-run]',
    about: `${about}. The same request key books it once`,
    options: {
      'amount-cents': { type: 'string' },
      'request-key': { type: 'string' },
      reason: { type: 'string' },
      day: { type: 'string' },
      ...dryRunOption,
    },
    operands: ['NAME'],
    run: async (edge, { values, operands: [connection = ''] }) => {
      const day = dayOption(values.day, '--day') ?? dayOf(edge.clock.now());
      const wanted = {
        connection,
        kind,
        amountCents: integer(required(values, 'amount-cents'), '--amount-cents'),
        requestKey: required(values, 'request-key'),
        reason: required(values, 'reason'),
        at: startOfDay(day),
      };
      return onDatabase(edge, name, (context) =>
        posting(
          values,
          operatorOf(context),
          (operator) => bookMovement(operator, wanted),
          ({ at: _, ...booked }) => ({
            json: { ...booked, day },
            text: `${connection}: ${booked.repeated ? 'had' : 'has'} ${priceOf(booked.amountCents)} booked as ${kind === 'cost' ? 'a cost' : 'own money'}`,
          }),
        ),
      );
    },
  };
}

function dayOption(value: string | boolean | undefined, option: string): string | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(value) ? Date.parse(`${value}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(value))
    throw new UsageFault(`${option} takes a day like 2026-11-21`);
  return value;
}

function modeOf(value: string | boolean | undefined): Mode | undefined {
  if (value === undefined) return undefined;
  if (value !== 'shared' && value !== 'own') throw new UsageFault('--mode takes shared or own');
  return value;
}

/** A PKCS #12 file is read as bytes; everything else is text. */
async function credentialsOf(values: CommandInput['values']): Promise<unknown> {
  const { credentials, certificate, 'certificate-key': key } = values;
  const merged: Record<string, unknown> = {};
  if (typeof credentials === 'string') {
    const bytes = credentials === '-' ? await standardInput() : await fileOf(credentials);
    const fault = encodingFault(bytes);
    if (fault !== null) throw new UsageFault(`--credentials: the file ${fault}`);
    const parsed = parse(textOf(bytes));
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
      throw new UsageFault('--credentials: must be one JSON object');
    Object.assign(merged, parsed);
  }
  if (typeof certificate === 'string') {
    const bytes = await fileOf(certificate);
    const isPem = bytes.includes('-----BEGIN');
    merged.certificate = isPem ? bytes.toString() : bytes.toString('base64');
  }
  if (typeof key === 'string') merged.certificateKey = (await fileOf(key)).toString();
  if (Object.keys(merged).length === 0)
    throw new UsageFault('--credentials is missing: a file, or - for standard input');
  return merged;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would repeat a part of the secret.
    throw new UsageFault('--credentials: is no JSON');
  }
}

async function fileOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageFault((error as Error).message);
  }
}

async function standardInput(): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** A fault of the given credentials is printed as one line. */
const withProviders = <T>(
  edge: Edge,
  command: string,
  work: (deps: ConnectionDeps) => Promise<T>,
): Promise<T> =>
  onDatabase(edge, command, async (context: Context) => {
    const { createUndiciNet } = await import('../../ports/undici-net.ts');
    const net = createUndiciNet();
    try {
      return await work({ ...operatorOf(context), secrets: context.secrets, config: context.config, net });
    } catch (error) {
      throw error instanceof CredentialFault ? new OperatorRefused(error.message) : error;
    } finally {
      await net.close();
    }
  });

const shown = ({ certificateExpiresAt, heldSince, ...view }: ConnectionView) => ({
  ...view,
  ...(heldSince === undefined ? {} : { heldSince: instant(heldSince) }),
  ...(certificateExpiresAt === undefined ? {} : { certificateExpiresAt: instant(certificateExpiresAt) }),
});

const connectionColumns = [
  'connection',
  'adapter',
  'mode',
  'state',
  'environment',
  'accounts',
  'certificate ends',
];

function answer(view: ConnectionView): Answer {
  const json = shown(view);
  return { json, text: facts(json) };
}
