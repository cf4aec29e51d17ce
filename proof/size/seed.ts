import { once } from 'node:events';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { type Balance, decide, emptyBalance, type Movement } from '../../server/src/money/decide.ts';
import {
  canonicalVersion,
  chainStart,
  type EventKind,
  eventKinds,
  hashOf,
} from '../../server/src/money/journal.ts';
import type { Ids } from '../../server/src/ports/ids.ts';
import { paymentIdFor } from '../../server/src/store/rows/idempotency.ts';
import { eventOf, refundCents, type Seeded, takenAs, type World } from './world.ts';

/** One account of ten operations as it grows while payments are written. */
interface Operation {
  accountId: string;
  accountNumber: number;
  id: string;
  balance: Balance;
  seq: number;
  head: Buffer;
}

export interface Stored {
  /** The account that has half of everything. */
  bigAccountId: string;
  /** Its operations: the first has half of the settled charges and every transfer, the second half of the open charges, the others nothing. */
  bigOperationIds: string[];
  /** Charges of the first one, where there are such. */
  refundedId: string | null;
  disputedId: string | null;
}

/**
 * Writes the world with COPY, as the service would have written it: ids from request keys, journals in their chains of hashes, one event for
 * each ending, an intent for each open charge. `verify` holds over it.
 */
export async function seed(
  url: string,
  world: World,
  identity: Buffer,
  ids: Ids,
  /** The account at the provider that all of it was sent to. */
  sentTo: string,
): Promise<Stored> {
  const client = new pg.Client({
    connectionString: url,
    options: '-c search_path=vintem -c TimeZone=UTC -c synchronous_commit=off',
  });
  await client.connect();
  const rows = new Rows(client);
  const build = await dropIndexes(client);
  const at = world.count > 0 ? world.of(0).createdAt - 60_000 : Date.now() - 60_000;
  const operations = await writeOperations(rows, world.sizes.operations, ids, at);
  const [first, second] = operations as [Operation, Operation];
  const spread = operations.length > 10 ? operations.slice(10) : [first, second];
  const logged = new Map<string, number>();
  for (let n = 0; n < world.count; n++) {
    const { settled, kind, rank } = world.of(n);
    const other = spread[(settled ? rank : n) % spread.length] as Operation;
    const settling = kind === 'transfer' || rank % 2 === 0 ? first : other;
    const own = settled ? settling : n % 4 < 2 ? second : other;
    await writePayment(rows, world, n, own, identity, ids, logged, sentTo);
  }
  for (const [accountId, last] of logged)
    await rows.add('event_sequence', ['account_id', 'last_seq'], [accountId, last]);
  await rows.end();
  await build();
  for (const { accountId, id, balance, seq, head } of operations)
    await client.query(
      'UPDATE balance SET available = $3, reserved = $4, held = $5, hold_wanted = $6, seq = $7, head = $8 WHERE account_id = $1 AND operation_id = $2',
      [accountId, id, balance.available, balance.reserved, balance.held, balance.holdWanted, seq, head],
    );
  await client.query('VACUUM (ANALYZE)');
  await client.end();
  const firstWith = (turn: Seeded['turn']): string | null => {
    for (let n = 0; n < world.count; n++)
      if (world.of(n).turn === turn && world.of(n).rank % 2 === 0) return world.id(n);
    return null;
  };
  return {
    bigAccountId: first.accountId,
    bigOperationIds: operations.slice(0, 10).map(({ id }) => id),
    refundedId: firstWith('refunded'),
    disputedId: firstWith('lost'),
  };
}

const largeTables = ['payment', 'journal', 'intent', 'event', 'event_log', 'refund'];

/** Drops keys and indexes of the tables that millions of rows go into. @returns what builds them again, as they were */
async function dropIndexes(client: pg.Client): Promise<() => Promise<void>> {
  const { rows: keys } = await client.query<{ table: string; name: string; form: string }>(
    `SELECT conrelid::regclass::text AS table, conname AS name, pg_get_constraintdef(oid) AS form FROM pg_constraint
      WHERE conrelid = ANY ($1::regclass[]) AND contype IN ('p', 'u')`,
    [largeTables],
  );
  for (const { table, name } of keys) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  const { rows: indexes } = await client.query<{ name: string; form: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS form FROM pg_index WHERE indrelid = ANY ($1::regclass[])`,
    [largeTables],
  );
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
  return async () => {
    await client.query(`SET maintenance_work_mem = '512MB'`);
    for (const { table, name, form } of keys)
      await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${form}`);
    for (const { form } of indexes) await client.query(form);
  };
}

async function writeOperations(rows: Rows, count: number, ids: Ids, atMs: number): Promise<Operation[]> {
  const operations: Operation[] = [];
  const at = iso(atMs);
  for (let n = 0; n < count; n++) {
    if (n % 10 === 0) {
      const accountId = ids.uuid();
      const number = 1_000 + n / 10;
      await rows.add(
        'account',
        ['id', 'number', 'name', 'test', 'connection', 'created_at'],
        [accountId, number, 'Loja', true, 'simulator', at],
      );
      await rows.add('balance', balanceColumns, [accountId, accountId, chainStart, at]);
      operations.push({ ...newOperation(accountId, number, ids) });
    } else {
      const { accountId, accountNumber } = operations.at(-1) as Operation;
      operations.push(newOperation(accountId, accountNumber, ids));
    }
    const { accountId, id } = operations.at(-1) as Operation;
    await rows.add(
      'operation',
      ['account_id', 'id', 'name', 'slot', 'main', 'created_at', 'updated_at'],
      [
        accountId,
        id,
        `Operation ${n}`,
        (n % 10) + 1,
        n % 10 === 0 ? true : null,
        iso(atMs + (n % 10)),
        iso(atMs + (n % 10)),
      ],
    );
    await rows.add('balance', balanceColumns, [accountId, id, chainStart, at]);
  }
  // Foreign keys: accounts before the operations and balances of them.
  await rows.flush(['account', 'operation', 'balance']);
  return operations;
}

const newOperation = (accountId: string, accountNumber: number, ids: Ids): Operation => ({
  accountId,
  accountNumber,
  id: ids.uuid(),
  balance: { ...emptyBalance },
  seq: 0,
  head: chainStart,
});

const balanceColumns = ['account_id', 'operation_id', 'head', 'updated_at'];

async function writePayment(
  rows: Rows,
  world: World,
  n: number,
  own: Operation,
  identity: Buffer,
  ids: Ids,
  logged: Map<string, number>,
  sentTo: string,
): Promise<void> {
  const seeded = world.of(n);
  const { kind, createdAt, settledAt, amountCents, feeCents, endToEnd, settled } = seeded;
  const { accountId, accountNumber } = own;
  const requestKey = ids.uuid();
  const id = paymentIdFor(identity, { id: accountId, number: accountNumber }, requestKey);
  world.setId(n, id);
  const command = ids.uuid();
  const paidState = kind === 'deposit' ? 'paid' : 'completed';
  const causeId = ids.uuid();
  const history = [
    { status: 'unknown', at: iso(createdAt), cause: { by: 'api', id: causeId } },
    { status: 'pending', at: iso(createdAt + 100), cause: { by: 'answer', id: causeId } },
    ...(settled ? [{ status: paidState, at: iso(settledAt), cause: { by: 'webhook', id: causeId } }] : []),
  ];
  await rows.add('payment', paymentColumns, [
    accountId,
    id,
    own.id,
    kind,
    settled ? paidState : 'pending',
    amountCents,
    feeCents,
    requestKey,
    Buffer.alloc(33, 1),
    'Pedido',
    kind === 'deposit' ? 'Maria' : null,
    kind === 'transfer' ? Buffer.alloc(40, 2) : null,
    kind === 'transfer' ? 'EMAIL' : null,
    iso(createdAt),
    iso(settled ? settledAt : createdAt + 100),
    settled ? iso(settledAt) : null,
    settled && kind === 'deposit' ? iso(settledAt) : null,
    kind === 'deposit' ? iso(createdAt + 48 * 3_600_000) : null,
    kind === 'deposit' ? 'seeded' : null,
    settled ? endToEnd : null,
    settled ? feeCents : null,
    settled ? amountCents - feeCents : null,
    JSON.stringify(history),
    command,
    seeded.turn === 'refunded' ? refundCents : 0,
    seeded.turn !== null && seeded.turn !== 'refunded',
    seeded.turn === 'lost' ? 'debited' : null,
  ]);
  if (!settled) return writeIntent(rows, world, n, own, id, ids, sentTo);
  if (kind === 'deposit') {
    await post(
      rows,
      own,
      id,
      eventKinds.credit,
      { kind: 'credit', amountCents, feeCents },
      settledAt,
      command,
    );
    await turn(rows, world, n, own, identity, ids);
  } else {
    if (own.balance.available < amountCents) throw new Error('the seeds spend more than there is');
    await post(
      rows,
      own,
      id,
      eventKinds.reserve,
      { kind: 'reserve', grossCents: amountCents },
      createdAt,
      command,
    );
    await post(
      rows,
      own,
      id,
      eventKinds.complete,
      { kind: 'complete', grossCents: amountCents, feeCents },
      settledAt,
      ids.uuid(),
    );
  }
  const eventId = uuidAt(settledAt, ids);
  const { type, body } = eventOf(eventId, id, seeded);
  await rows.add(
    'event',
    ['account_id', 'id', 'type', 'operation_id', 'payment_id', 'body', 'created_at'],
    [accountId, eventId, type, own.id, id, body, iso(settledAt)],
  );
  const seq = (logged.get(accountId) ?? 0) + 1;
  logged.set(accountId, seq);
  await rows.add('event_log', ['account_id', 'seq', 'event_id'], [accountId, seq, eventId]);
}

/** The turn of a charge, at the moment at which it was paid. */
async function turn(
  rows: Rows,
  world: World,
  n: number,
  own: Operation,
  identity: Buffer,
  ids: Ids,
): Promise<void> {
  const seeded = world.of(n);
  if (seeded.turn === 'refunded') await giveBack(rows, world, n, own, identity, ids);
  else if (seeded.turn !== null) await contest(rows, world.id(n), seeded, own, ids);
}

async function giveBack(
  rows: Rows,
  world: World,
  n: number,
  own: Operation,
  identity: Buffer,
  ids: Ids,
): Promise<void> {
  const { settledAt, endToEnd } = world.of(n);
  const { accountId, accountNumber } = own;
  const [requestKey, command, causeId] = [ids.uuid(), ids.uuid(), ids.uuid()];
  const id = paymentIdFor(identity, { id: accountId, number: accountNumber }, requestKey);
  world.setRefundId(n, id);
  const at = iso(settledAt);
  const history = [
    { status: 'unknown', at, cause: { by: 'api', id: causeId } },
    { status: 'completed', at, cause: { by: 'answer', id: causeId } },
  ];
  await rows.add('refund', refundColumns, [
    accountId, id, own.id, world.id(n), endToEnd, 'requested', 'completed', refundCents, '', requestKey, Buffer.alloc(33, 1), null, at, at, at,
    JSON.stringify(history), command,
  ]); // biome-ignore format: one row
  const reserve = { kind: 'refundReserve', amountCents: refundCents } as const;
  await post(rows, own, id, eventKinds.refundReserve, reserve, settledAt, command);
  const complete = { kind: 'refundComplete', amountCents: refundCents, feeCents: 0 } as const;
  await post(rows, own, id, eventKinds.refundComplete, complete, settledAt, ids.uuid());
}

const refundColumns = [
  'account_id', 'id', 'operation_id', 'payment_id', 'end_to_end', 'reason', 'status', 'amount_cents', 'description', 'request_key', 'fingerprint',
  'rtr_id', 'created_at', 'updated_at', 'settled_at', 'history', 'command',
]; // biome-ignore format: one table

/** A dispute with its hold, and its end. */
async function contest(
  rows: Rows,
  paymentId: string,
  seeded: Seeded,
  own: Operation,
  ids: Ids,
): Promise<void> {
  const { turn: end, settledAt, endToEnd, amountCents } = seeded;
  const { accountId } = own;
  const [holdId, at] = [ids.uuid(), iso(settledAt)];
  const ended = end === 'disputed' ? null : at;
  await post(rows, own, holdId, eventKinds.hold, { kind: 'hold', amountCents }, settledAt, holdId);
  if (end === 'won')
    await post(
      rows,
      own,
      holdId,
      eventKinds.releaseHold,
      { kind: 'releaseHold', capturedCents: amountCents, wantedCents: 0 },
      settledAt,
      ids.uuid(),
      'won',
    );
  if (end === 'lost') {
    const movement = { kind: 'debitHeld', amountCents, capturedCents: amountCents, wantedCents: 0 } as const;
    await post(rows, own, paymentId, eventKinds.debit, movement, settledAt, ids.uuid(), takenAs(seeded));
    await rows.add('known_return', returnColumns, [
      accountId, paymentId, takenAs(seeded), endToEnd, null, takenAs(seeded), amountCents, at, true,
    ]); // biome-ignore format: one row
    await rows.add('incident', incidentColumns, [
      accountId, ids.uuid(), 'debit', paymentId, own.id, amountCents, `debit:${paymentId}:${takenAs(seeded)}`, false, '{}', 'resolved', at, at,
      '{"action": "none", "reason": "seen", "actor": "size"}',
    ]); // biome-ignore format: one row
  }
  await rows.add('hold', holdColumns, [
    accountId, holdId, own.id, amountCents, `dispute of payment ${paymentId}`, 'dispute', at, ended, paymentId,
  ]); // biome-ignore format: one row
  const status = end === 'disputed' ? 'open' : end === 'lost' ? 'accepted' : 'rejected';
  await rows.add('dispute', disputeColumns, [
    accountId, uuidAt(settledAt, ids), paymentId, own.id, 'simulator', `dispute ${endToEnd}`, endToEnd, amountCents, status, at,
    iso(settledAt + 7 * 86_400_000), ended, end === 'lost' ? amountCents : 0, end === 'disputed' ? holdId : null, at, at,
  ]); // biome-ignore format: one row
}

const returnColumns = [
  'account_id',
  'payment',
  'reference',
  'pix',
  'return_id',
  'rtr_id',
  'amount_cents',
  'at',
  'posted',
];
const holdColumns = [
  'account_id',
  'id',
  'operation_id',
  'wanted_cents',
  'reason',
  'placed_by',
  'placed_at',
  'released_at',
  'payment_id',
];
const incidentColumns = [
  'account_id', 'id', 'kind', 'payment_id', 'operation_id', 'amount_cents', 'reference', 'freezes', 'detail', 'state', 'opened_at', 'resolved_at',
  'resolution',
]; // biome-ignore format: one table
const disputeColumns = [
  'account_id', 'id', 'payment_id', 'operation_id', 'connection', 'provider_id', 'end_to_end', 'amount_cents', 'status', 'opened_at', 'deadline_at',
  'ended_at', 'debited_cents', 'hold_id', 'created_at', 'updated_at',
]; // biome-ignore format: one table

const paymentColumns = [
  'account_id', 'id', 'operation_id', 'kind', 'status', 'amount_cents', 'fee_cents', 'request_key', 'fingerprint', 'description', 'payer_name',
  'pix_key', 'pix_key_type', 'created_at', 'updated_at', 'settled_at', 'paid_at', 'expires_at', 'copy_paste', 'end_to_end',
  'provider_fee_cents', 'net_amount_cents', 'history', 'command', 'refunded_cents', 'disputed', 'notice',
]; // biome-ignore format: one table

/** Of the last twentieth every charge is due now; the others wait for their time. */
async function writeIntent(
  rows: Rows,
  world: World,
  n: number,
  own: Operation,
  id: string,
  ids: Ids,
  sentTo: string,
): Promise<void> {
  const { createdAt } = world.of(n);
  const due = n > world.count * 0.95;
  const dueAt = due ? createdAt + 3_600_000 * 0.5 : Date.now() + 3_600_000 + (n % 3_600_000);
  await rows.add(
    'intent',
    [
      'account_id',
      'payment_id',
      'operation_id',
      'connection',
      'kind',
      'priority',
      'state',
      'fence',
      'attempt',
      'due_at',
      'news_at',
      'attempt_ended_at',
      'failures',
      'absences',
      'known',
      'refused',
      'created_at',
      'identity',
    ],
    [
      own.accountId,
      id,
      own.id,
      'simulator',
      'deposit',
      5,
      'awaiting',
      ids.uuid(),
      1,
      iso(dueAt),
      iso(createdAt + 100),
      iso(createdAt + 100),
      0,
      0,
      true,
      false,
      iso(createdAt),
      sentTo,
    ],
  );
}

async function post(
  rows: Rows,
  own: Operation,
  subject: string,
  event: EventKind,
  movement: Movement,
  atMs: number,
  command: string,
  reference = '',
): Promise<void> {
  const decision = decide(own.balance, movement);
  if ('refused' in decision) throw new Error(decision.refused);
  const { lines, balance } = decision;
  const unsealed = {
    accountId: own.accountId,
    chainId: own.id,
    seq: own.seq + 1,
    template: movement.kind,
    subject,
    event,
    reference,
    lines,
    after: balance,
    effectiveAt: atMs,
    postedAt: atMs,
    command,
    connection: lines.clearing === 0 ? null : 'simulator',
    version: canonicalVersion,
    previous: own.head,
  };
  const hash = hashOf(unsealed);
  Object.assign(own, { balance, seq: unsealed.seq, head: hash });
  await rows.add('journal', journalColumns, [
    own.accountId, own.id, unsealed.seq, movement.kind, subject, event, reference, lines.available, lines.reserved, lines.held, lines.receivable,
    lines.clearing, lines.feeRevenue, lines.providerCost, lines.suspense, lines.adjustments, balance.available, balance.reserved,
    balance.held, balance.receivable, iso(atMs), iso(atMs), command, canonicalVersion, unsealed.previous, hash,
    unsealed.connection,
  ]); // biome-ignore format: one row
}

const journalColumns = [
  'account_id', 'chain_id', 'seq', 'template', 'subject', 'event', 'reference', 'available', 'reserved', 'held', 'receivable', 'clearing',
  'fee_revenue', 'provider_cost', 'suspense', 'adjustments', 'available_after', 'reserved_after', 'held_after', 'receivable_after',
  'effective_at', 'posted_at', 'command', 'version', 'previous', 'hash', 'connection',
]; // biome-ignore format: one table

const iso = (ms: number): string => new Date(ms).toISOString();

/** A UUIDv7 of another moment than now. */
function uuidAt(ms: number, ids: Ids): string {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}${ids.uuid().slice(13)}`;
}

type Value = string | number | boolean | Buffer | null;

/** Rows collected by table, written in blocks with COPY: memory stays the same however many there are. */
class Rows {
  readonly #client: pg.Client;
  readonly #tables = new Map<string, { columns: readonly string[]; text: string[]; bytes: number }>();

  constructor(client: pg.Client) {
    this.#client = client;
  }

  async add(table: string, columns: readonly string[], values: readonly Value[]): Promise<void> {
    let rows = this.#tables.get(table);
    if (!rows) {
      rows = { columns, text: [], bytes: 0 };
      this.#tables.set(table, rows);
    }
    const line = `${values.map(field).join('\t')}\n`;
    rows.text.push(line);
    rows.bytes += line.length;
    if (rows.bytes > 8_000_000 && !['account', 'operation', 'balance'].includes(table))
      await this.flush([table]);
  }

  async flush(tables: readonly string[]): Promise<void> {
    for (const table of tables) {
      const rows = this.#tables.get(table);
      if (!rows) continue;
      this.#tables.delete(table);
      const into = this.#client.query(copyFrom(`COPY ${table} (${rows.columns.join(', ')}) FROM STDIN`));
      into.end(rows.text.join(''));
      await once(into, 'finish');
    }
  }

  end(): Promise<void> {
    return this.flush([...this.#tables.keys()]);
  }
}

function field(value: Value): string {
  if (value === null) return '\\N';
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`;
  return typeof value === 'string'
    ? value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t')
    : String(value);
}
