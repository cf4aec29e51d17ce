import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { homeCell } from '../../store/database/cells.ts';
import { type BookedPix, type PixRef, readBookedIn } from '../../store/ledger.sql.ts';
import {
  type ChainState,
  type ChargeTruth,
  type Check,
  type Evidence,
  emptyChain,
  examine,
  type PayoutTruth,
  type Summed,
} from './invariants.ts';
import {
  type AccountRow,
  beforeAll,
  findAccount,
  findAccounts,
  findAuditAt,
  findAuditChain,
  findAuditChains,
  findAuditRows,
  findBookedPix,
  findCellsOf,
  findChains,
  findCheckpoints,
  findCloses,
  findConnectionCloses,
  findDisputed,
  findEarlierAudit,
  findElsewhere,
  findFloatColumns,
  findGiven,
  findHashAt,
  findJournals,
  findLastCheckpoint,
  findNextAudited,
  findNextChain,
  findOpenIds,
  findPayments,
  findPaymentsById,
  findPlaces,
  findStoredBooks,
  findTaken,
  insertCheckpoints,
} from './verify.sql.ts';

/**
 * Examines what is stored against every invariant, beside a running service. It finds and repairs nothing: a repaired ledger
 * is one whose evidence is gone.
 *
 * **Full** sums and hashes every journal from the first. **Incremental** starts each chain at its last checkpoint and looks at
 * the payments that the journals since then are about, at the unfinished and at the disputed ones; a charge that ended without money is
 * looked at by a full pass only. A checkpoint is written only for a chain that was summed from the one before and in which
 * nothing was wrong; a full pass compares those that it comes by.
 *
 * Of the audit log an incremental pass reads the last rows of each account, a full one all.
 *
 * **Anchors.** A person who may write to the database may rewrite it whole, chain and checkpoints included. Only heads that were kept
 * elsewhere show that: an anchor file names chains, also those of the audit log, with a `seq` and the hash there. When the file exists, a full pass
 * compares with it and leaves it alone; when not, it is written from the heads of a pass that found nothing.
 */
export interface VerifyOptions {
  /** Null: all accounts, and the installation's own. */
  accountId: string | null;
  full: boolean;
  anchor?: Anchor | null;
  /** The payment id that an account and a request key make. */
  idOf(account: { id: string; number: number }, requestKey: string): string;
  /** The provider's own truth, in a rig. */
  provider?: {
    payouts: PayoutTruth[];
    charges: ChargeTruth[];
    balanceCents: number | null;
    balances?: ReadonlyMap<string, number>;
  };
}

export interface Verified {
  ok: boolean;
  checks: Check[];
  /** The heads of this pass. */
  anchor: Anchor;
}

export interface Anchor {
  vintemAnchor: 1;
  /** RFC 3339. */
  takenAt: string;
  chains: AnchoredChain[];
  /** Null: the anchor was kept before the audit log had chains, and says nothing of it. */
  audit: AnchoredAudit[] | null;
}

/** The head of the audit log of an account in a cell. */
export interface AnchoredAudit {
  cell: string;
  accountId: string;
  seq: number;
  /** SHA-256, hex. */
  hash: string;
}

export interface AnchoredChain {
  accountId: string;
  chainId: string;
  seq: number;
  /** SHA-256, hex. */
  hash: string;
}

const accountsPerPage = 200;
const chainsPerPage = 200;
const journalsPerPage = 2_000;
const paymentsPerPage = 500;
const closesPerPage = 100;
const pixPerPage = 2_000;
const auditRowsPerPage = 500;
/** By a pass that is not full, of each account. */
const auditRowsLooked = 500;

/** Events are kept for 90 days; a day earlier nothing is expected of them any more. */
const eventsKeptMs = 89 * 86_400_000;

export async function verify(
  { sql, clock }: { sql: Sql; clock: Clock },
  options: VerifyOptions,
): Promise<Verified> {
  const full = options.full || options.anchor != null;
  const evidence = storedEvidence({ sql, clock }, { ...options, full });
  const { checks, summed, audited } = await examine(evidence);
  if (options.anchor) checks.push(await compareAnchor(sql, options.anchor, options.accountId));
  if (options.anchor?.audit)
    checks.push(await compareAuditAnchor(sql, options.anchor.audit, options.accountId));
  await keepCheckpoints({ sql, clock }, summed);
  return {
    ok: checks.every((check) => check.ok),
    checks,
    anchor: {
      vintemAnchor: 1,
      takenAt: new Date(clock.now()).toISOString(),
      chains: summed
        .filter(({ sums }) => sums.seq > 0)
        .map(({ chain, sums }) => ({
          accountId: chain.accountId,
          chainId: chain.chainId,
          seq: sums.seq,
          hash: sums.head.toString('hex'),
        })),
      audit: audited.map(({ cell, accountId, seq, head }) => ({
        ...{ cell, accountId, seq },
        hash: head.toString('hex'),
      })),
    },
  };
}

/** The findings in a cell. */
export interface CellChecks {
  cell: string;
  checks: Check[];
}

/**
 * Each cell by itself, one after the other; an anchor names the chains of all of them.
 * @param cells the first one in front; for one account, its own
 */
export async function verifyCells(
  cells: readonly { cell: string; sql: Sql }[],
  clock: Clock,
  options: VerifyOptions,
): Promise<Verified & { cells: CellChecks[] }> {
  const found: CellChecks[] = [];
  const audit: AnchoredAudit[] = [];
  const anchor: Anchor = {
    vintemAnchor: 1,
    takenAt: new Date(clock.now()).toISOString(),
    chains: [],
    audit,
  };
  for (const { cell, sql } of cells) {
    const own = options.anchor && (await anchorOfCell(sql, options.anchor, cell));
    const verified = await verify(
      { sql, clock },
      { ...options, ...(own === undefined ? {} : { anchor: own }) },
    );
    const others = cells.map((other) => other.cell).filter((other) => other !== cell);
    const ofCells = options.full && others.length > 0 ? [await bookedHereAlone(sql, others)] : [];
    if (cell === homeCell && options.full && options.accountId === null)
      ofCells.push(await takenElsewhere(cells, sql, clock.now()));
    found.push({ cell, checks: [...verified.checks, ...ofCells] });
    anchor.chains.push(...verified.anchor.chains);
    audit.push(...(verified.anchor.audit ?? []));
  }
  const checks = together(found);
  return { ok: checks.every((check) => check.ok), checks, anchor, cells: found };
}

/** Within a cell an index holds it. None reaches over several, where the till looks under a lock: what it missed is found here. */
async function bookedHereAlone(sql: Sql, others: readonly string[]): Promise<Check> {
  const check: Check = {
    number: 76,
    name: 'a Pix is booked in one cell',
    ok: true,
    examined: 0,
    violations: [],
  };
  let page: BookedPix[] = [];
  do {
    page = await findBookedPix(sql, page.at(-1) ?? null, pixPerPage);
    check.examined += page.length;
    const elsewhere = new Map((await readBookedIn(sql, others, page)).map((one) => [pixKey(one), one]));
    for (const one of page) {
      const twice = elsewhere.get(pixKey(one));
      if (twice === undefined) continue;
      check.ok = false;
      check.violations.push({
        accountId: one.accountId,
        operationId: null,
        paymentId: one.subject,
        fault: `Pix ${one.endToEnd} is booked under payment ${twice.subject} of another cell as well`,
      });
    }
  } while (page.length === pixPerPage);
  return check;
}

/** Longer than any repair takes: the worker credits within seconds. */
const owedMostMs = 3_600_000;

/** The decision is read first and the other cell then, so that a credit which comes in between is no fault. */
async function takenElsewhere(
  cells: readonly { cell: string; sql: Sql }[],
  home: Sql,
  now: number,
): Promise<Check> {
  const name =
    'money that a decision gave to another cell is in its books, once it says so and within an hour';
  const check: Check = { number: 79, name, ok: true, examined: 0, violations: [] };
  for await (const page of pagesOf(
    (after: string) => findGiven(home, after, pixPerPage),
    beforeAll,
    ({ id }) => id,
    pixPerPage,
  )) {
    check.examined += page.length;
    const taken = await Promise.all(cells.map(({ sql }) => findTaken(sql, page)));
    for (const [at, { id, money, owed, resolvedAt }] of page.entries()) {
      if (taken.some((ofCell) => ofCell.has(at)) || (owed && now - resolvedAt <= owedMostMs)) continue;
      check.ok = false;
      const fault = `${money.amountCents} of incident ${id} are ${owed ? 'still owed' : 'not there'}`;
      check.violations.push({ accountId: money.accountId, operationId: null, paymentId: null, fault });
    }
  }
  return check;
}

const pixKey = ({ connection, endToEnd }: PixRef): string => `${connection} ${endToEnd}`;

/** A check of several cells is one. */
function together(found: readonly CellChecks[]): Check[] {
  const byName = new Map<string, Check>();
  for (const check of found.flatMap(({ checks }) => checks)) {
    const before = byName.get(check.name);
    byName.set(check.name, {
      ...check,
      ok: check.ok && (before?.ok ?? true),
      examined: check.examined + (before?.examined ?? 0),
      violations: [...(before?.violations ?? []), ...check.violations],
    });
  }
  return [...byName.values()];
}

/** The chains of the cell's accounts; those of accounts that are gone are missed in the first one. */
async function anchorOfCell(sql: Sql, anchor: Anchor, cell: string): Promise<Anchor> {
  const accounts = [...new Set(anchor.chains.map(({ accountId }) => accountId))];
  const cells = new Map((await findCellsOf(sql, accounts)).map((one) => [one.id, one.cell]));
  return {
    ...anchor,
    chains: anchor.chains.filter(({ accountId }) => (cells.get(accountId) ?? homeCell) === cell),
    audit: anchor.audit?.filter((one) => one.cell === cell) ?? null,
  };
}

/** @returns null for what is no anchor */
export function readAnchor(text: string): Anchor | null {
  let anchor: Partial<Anchor>;
  try {
    anchor = { audit: null, ...(JSON.parse(text) as Partial<Anchor>) };
  } catch {
    return null;
  }
  const isChain = (one: Partial<AnchoredChain> | null): boolean =>
    typeof one?.accountId === 'string' &&
    typeof one.chainId === 'string' &&
    Number.isSafeInteger(one.seq) &&
    typeof one.hash === 'string';
  const isAudit = (one: Partial<AnchoredAudit> | null): boolean =>
    typeof one?.cell === 'string' &&
    typeof one.accountId === 'string' &&
    Number.isSafeInteger(one.seq) &&
    typeof one.hash === 'string';
  return anchor.vintemAnchor === 1 &&
    Array.isArray(anchor.chains) &&
    anchor.chains.every(isChain) &&
    (anchor.audit === null || (Array.isArray(anchor.audit) && anchor.audit.every(isAudit)))
    ? (anchor as Anchor)
    : null;
}

async function compareAnchor(sql: Sql, anchor: Anchor, accountId: string | null): Promise<Check> {
  const check: Check = {
    number: 4,
    name: 'the journals are those of the anchor',
    ok: true,
    examined: 0,
    violations: [],
  };
  for (const one of anchor.chains) {
    if (accountId !== null && one.accountId !== accountId) continue;
    check.examined++;
    const hash = await findHashAt(sql, one);
    if (hash?.toString('hex') === one.hash) continue;
    check.ok = false;
    check.violations.push({
      accountId: one.accountId,
      operationId: one.chainId === one.accountId ? null : one.chainId,
      paymentId: null,
      fault: `journal ${one.seq} is ${hash ? 'another one' : 'gone'}`,
    });
  }
  return check;
}

async function compareAuditAnchor(
  sql: Sql,
  audit: readonly AnchoredAudit[],
  accountId: string | null,
): Promise<Check> {
  const check: Check = {
    number: 75,
    name: 'the audit log is that of the anchor',
    ok: true,
    examined: 0,
    violations: [],
  };
  for (const one of audit) {
    if (accountId !== null && one.accountId !== accountId) continue;
    check.examined++;
    // Before its first row a chain is the digest of the rows from before it.
    const hash =
      one.seq === 0
        ? (await findAuditChain(sql, one.accountId))[0]?.start
        : (await findAuditAt(sql, one.accountId, one.seq))?.hash;
    if (hash?.toString('hex') === one.hash) continue;
    check.ok = false;
    const fault = `audit row ${one.seq} is ${hash ? 'another one' : 'gone'}`;
    check.violations.push({ accountId: one.accountId, operationId: null, paymentId: null, fault });
  }
  return check;
}

/**
 * A checkpoint is worth its row when it saves reading so many journals. At 256 the operations of small merchants never got one, and a pass
 * from the checkpoints took longer (57.6 s) than one from the beginning (44.2 s) over 300 operations of 200 journals each.
 */
const checkpointEvery = 16;

async function keepCheckpoints(
  { sql, clock }: { sql: Sql; clock: Clock },
  summed: readonly Summed[],
): Promise<void> {
  const rows = summed
    .filter(({ journals }) => journals >= checkpointEvery)
    .map(({ chain, sums }) => ({ accountId: chain.accountId, chainId: chain.chainId, sums }));
  for (let at = 0; at < rows.length; at += 500) {
    await insertCheckpoints(sql, rows.slice(at, at + 500), clock.now());
  }
}

/** The rows of a database, page by page. */
export function storedEvidence(
  { sql, clock }: { sql: Sql; clock: Clock },
  { accountId, full, idOf, provider }: VerifyOptions,
): Evidence {
  const eventsSince = clock.now() - eventsKeptMs;
  const accountRows = (): AsyncGenerator<AccountRow> => readAccounts(sql, accountId);

  return {
    world: {
      idOf,
      eventsSince,
      providerBalanceCents: provider?.balanceCents ?? null,
      providerBalances: provider?.balances,
    },

    async *accounts() {
      for await (const account of accountRows()) {
        yield { ...account, ...(await findStoredBooks(sql, account.id)) };
      }
    },

    async *chains() {
      for await (const { id } of accountRows()) {
        const read = (after: string | null) => findChains(sql, id, after, chainsPerPage);
        for await (const page of pagesOf(read, null, ({ chainId }) => chainId, chainsPerPage)) yield* page;
      }
    },

    async start(chain) {
      if (full) return { from: emptyChain, kept: await findCheckpoints(sql, chain) };
      const last = await findLastCheckpoint(sql, chain);
      return { from: last && last.seq <= chain.seq ? stateOf(last) : emptyChain, kept: [] };
    },

    async *journals(chain, seq) {
      for (let after = seq; after < chain.seq; ) {
        const page = await findJournals(sql, chain, after, journalsPerPage);
        yield page;
        const last = page.at(-1);
        if (!last || page.length < journalsPerPage) return;
        after = last.seq;
      }
    },

    payments: full
      ? async function* () {
          for await (const { id } of accountRows()) {
            const read = (after: string) => findPayments(sql, id, after, paymentsPerPage, eventsSince);
            yield* pagesOf(read, beforeAll, idOfRow, paymentsPerPage);
          }
        }
      : null,

    async *openPayments() {
      for await (const { id } of accountRows()) {
        for await (const ids of openIds(sql, id)) {
          if (ids.length > 0) yield await findPaymentsById(sql, id, ids, eventsSince);
        }
      }
    },

    paymentsById: (account, ids) => findPaymentsById(sql, account, ids, eventsSince),

    closes: (chain, seq) => findCloses(sql, chain, seq),

    async *connectionCloses() {
      if (accountId !== null) return;
      const read = (after: { connection: string; day: string }) =>
        findConnectionCloses(sql, after, closesPerPage);
      const first = { connection: '', day: '0001-01-01' };
      for await (const page of pagesOf(read, first, (last) => last, closesPerPage)) yield* page;
    },

    async *auditChains() {
      if (accountId !== null) {
        yield* await findAuditChain(sql, accountId);
        return;
      }
      const read = (after: string | null) => findAuditChains(sql, after, chainsPerPage);
      for await (const page of pagesOf(read, null, (last) => last.accountId, chainsPerPage)) yield* page;
    },

    async auditStart({ accountId, start, seq }) {
      const first = { seq: 0, hash: start };
      if (full) return { from: first, earlier: await findEarlierAudit(sql, accountId) };
      const from = seq <= auditRowsLooked ? first : await findAuditAt(sql, accountId, seq - auditRowsLooked);
      return { from: from ?? null, earlier: null };
    },

    async *auditRows(chain, seq) {
      const read = (after: number) => findAuditRows(sql, chain, after, auditRowsPerPage);
      yield* pagesOf(read, seq, (last) => last.seq, auditRowsPerPage);
    },

    async *strayAudits() {
      if (!full || accountId !== null) return;
      for (let after: string | null = null; ; ) {
        const next: { accountId: string; chained: boolean } | undefined = await findNextAudited(sql, after);
        if (!next) return;
        if (!next.chained) yield next.accountId;
        after = next.accountId;
      }
    },

    async *strayRows() {
      if (!full) return;
      for await (const { id } of accountRows()) yield* chainsWithoutBalance(sql, id);
      if (accountId !== null) return;
      yield* chainsElsewhere(sql);
      yield* rowsElsewhere(sql);
    },

    floatColumns: () => findFloatColumns(sql),

    ...(provider ? { provider } : {}),
  };
}

/**
 * Reads on from the last row of each page, until one has fewer rows than a page may have.
 * @param most the rows of a full page
 */
async function* pagesOf<Row, Place>(
  read: (after: Place) => Promise<Row[]>,
  first: Place,
  placeOf: (row: Row) => Place,
  most: number,
): AsyncGenerator<Row[]> {
  for (let after = first; ; ) {
    const page = await read(after);
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < most) return;
    after = placeOf(last);
  }
}

const idOfRow = ({ id }: { id: string }): string => id;

/** @param accountId null: all accounts */
async function* readAccounts(sql: Sql, accountId: string | null): AsyncGenerator<AccountRow> {
  if (accountId !== null) {
    yield* await findAccount(sql, accountId);
    return;
  }
  const read = (after: string | null) => findAccounts(sql, after, accountsPerPage);
  for await (const page of pagesOf(read, null, idOfRow, accountsPerPage)) yield* page;
}

/** The ids of the unfinished payments, then of the disputed ones: a hold moves without a journal of its payment. */
async function* openIds(sql: Sql, accountId: string): AsyncGenerator<string[]> {
  const readOpen = (after: string) => findOpenIds(sql, accountId, after, paymentsPerPage);
  yield* pagesOf(readOpen, beforeAll, (id) => id, paymentsPerPage);
  const readDisputed = (after: string) => findDisputed(sql, accountId, after, paymentsPerPage);
  for await (const page of pagesOf(readDisputed, beforeAll, idOfRow, paymentsPerPage)) {
    yield [...new Set(page.map(({ paymentId }) => paymentId))];
  }
}

type StrayRows = { accountId: string; chainId: string | null; fault: string };

async function* chainsWithoutBalance(sql: Sql, accountId: string): AsyncGenerator<StrayRows> {
  for (let after = beforeAll; ; ) {
    const next = await findNextChain(sql, accountId, after);
    if (!next) return;
    if (!next.known) yield { accountId, chainId: next.chainId, fault: 'journals without a balance row' };
    after = next.chainId;
  }
}

async function* chainsElsewhere(sql: Sql): AsyncGenerator<StrayRows> {
  const read = (after: { accountId: string; chainId: string } | null) =>
    findPlaces(sql, after, chainsPerPage);
  for await (const page of pagesOf(read, null, (last) => last, chainsPerPage)) {
    for (const { own, ...chain } of page)
      if (!own) yield { ...chain, fault: 'a chain outside the cell of its account' };
  }
}

/** Accounts that have rows here beside those of their cell: no statement of theirs finds these. */
async function* rowsElsewhere(sql: Sql): AsyncGenerator<StrayRows> {
  const read = (after: string | null) => findElsewhere(sql, after, accountsPerPage);
  for await (const page of pagesOf(read, null, ({ accountId }) => accountId, accountsPerPage)) {
    for (const { accountId, tables } of page)
      if (tables.length > 0)
        yield {
          accountId,
          chainId: null,
          fault: `rows outside the cell of their account: ${tables.join(', ')}`,
        };
  }
}

const stateOf = ({ createdAt: _, ...state }: ChainState & { createdAt: number }): ChainState => state;
