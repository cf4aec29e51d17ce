import { requestsAboutCharges } from '../../server/src/kinds/registry/kinds.ts';
import type { accounts as lineAccounts, Movement } from '../../server/src/money/decide.ts';
import {
  type Chain,
  type Evidence,
  emptyChain,
  type StoredDefence,
  type StoredJournal,
  type StoredOperation,
  type StoredPayment,
  type World,
} from '../../server/src/operate/verify/invariants.ts';
import type { Database } from './database.ts';

/**
 * The rows of the database for `examine`, joined in memory. Each table is read whole, and only when something wrote to it
 * since: after a step that is two or three reads of a few rows, where `verify`'s own statements are fifty. So every
 * invariant can be examined after every step; `verify` itself looks where a run ends, and must come to the same.
 */
export interface Mirror {
  evidence(
    world: World,
    provider: NonNullable<Evidence['provider']>,
  ): Evidence & { incidents: readonly { payment: string | null; kind: string }[] };
}

type Row = Record<string, unknown>;
type Lines = Record<(typeof lineAccounts)[number], number>;

const tables = [
  'account',
  'balance',
  'connection_movement',
  ...requestsAboutCharges.map(({ table }) => table.name),
  'dispute',
  'dispute_defence',
  'dispute_file',
  'event',
  'hold',
  'incident',
  'intent',
  'journal',
  'known_return',
  'operation',
  'payment',
  'payment_link',
  'refund',
  'request_key',
  'static_code',
] as const;
type Table = (typeof tables)[number];

/** Columns that are read, where not all are. */
const columnsOf: Partial<Record<Table, string>> = {
  event: 'account_id, id, type, payment_id',
  payment: `account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, created_at, updated_at, end_to_end,
    provider_fee_cents, net_amount_cents, returned_cents, refunded_cents, history, command, expires_at, reason_code, due, card,
    connection, static_code_id, payment_link_id`,
  intent: 'account_id, payment_id, operation_id, state, identity, lease_until, absent_since, answered_at',
};

export function createMirror(db: Database): Mirror {
  const held = new Map<Table, { version: number; rows: Row[] }>();
  const floats = db.run<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE table_schema = 'vintem' AND data_type IN ('real', 'double precision', 'numeric', 'money')
        AND (column_name LIKE '%cents%' OR table_name IN ('journal', 'balance', 'checkpoint', 'payment', 'hold', 'incident'))`,
    [],
  );
  const read = <T>(table: Table): T[] => {
    const version = db.version(table);
    const found = held.get(table);
    if (found?.version === version) return found.rows as T[];
    const rows = db.run<Row>(`SELECT ${columnsOf[table] ?? '*'} FROM ${table}`, []);
    held.set(table, { version, rows });
    return rows as T[];
  };
  async function* each<T>(all: readonly T[]): AsyncGenerator<T> {
    yield* all;
  }

  return {
    evidence: (world, provider) => {
      const accounts = read<{ id: string; number: number }>('account');
      const balances = read<BalanceRow>('balance');
      const operations = read<OperationRow>('operation');
      const payments = read<PaymentRow>('payment');
      const intents = read<IntentRow>('intent');
      const incidents = read<IncidentRow>('incident');
      const holds = read<HoldRow>('hold');
      const holdOf = new Map(holds.map((one) => [one.id, one]));
      const disputes = Map.groupBy(read<DisputeRow>('dispute'), ({ payment_id }) => payment_id);
      const defences = Map.groupBy(read<DefenceRow>('dispute_defence'), ({ dispute_id }) => dispute_id);
      const files = read<{ id: string; dispute_id: string }>('dispute_file');
      const events = read<{ account_id: string; id: string; type: string; payment_id: string | null }>(
        'event',
      );
      const returns = Map.groupBy(read<ReturnRow>('known_return'), ({ payment }) => payment);
      const keys = read<KeyRow>('request_key');
      const journals = read<JournalRow>('journal').sort((one, other) => one.seq - other.seq);
      const movements = Map.groupBy(
        read<{ connection: string; posted_as: string | null; amount_cents: number }>('connection_movement'),
        ({ connection, posted_as }) => `${connection} ${posted_as}`,
      );
      const movementCentsOf = ({ connection, reference }: JournalRow): number | null =>
        movements
          .get(`${connection} ${reference}`)
          ?.reduce((cents, { amount_cents }) => cents + amount_cents, 0) ?? null;
      const paymentOf = new Map(payments.map((one) => [one.id, one]));
      const operationOf = new Map(operations.map((one) => [one.id, one]));
      const balanceOf = new Map(balances.map((one) => [one.operation_id, one]));
      const intentOf = new Map(intents.map((one) => [one.payment_id, one]));
      const references = new Set(incidents.map((one) => one.reference));
      const taken = new Set(keys.map((one) => `${one.account_id} ${one.request_key}`));
      const chains = Map.groupBy(journals, (one) => one.chain_id);
      const bySubject = Map.groupBy(journals, (one) => one.subject);

      const allRefunds = read<RefundRow>('refund');
      const refunds = Map.groupBy(allRefunds, ({ payment_id }) => payment_id);
      const refundOf = new Map(allRefunds.map((one) => [one.id, one]));

      const codes = read<CodeRow>('static_code');
      const links = read<LinkRow>('payment_link');
      const isIn = (one: PlaceRow, other: PlaceRow): boolean =>
        one.account_id === other.account_id && one.operation_id === other.operation_id;
      const isSum = (one: CountedRow, paid: readonly PaymentRow[]): boolean =>
        one.paid_count === paid.length &&
        one.paid_cents === paid.reduce((cents, { amount_cents }) => cents + amount_cents, 0);
      const isCounted = (code: CodeRow, accountId: string): boolean =>
        code.account_id !== accountId ||
        isSum(
          code,
          payments.filter(({ static_code_id }) => static_code_id === code.id),
        );
      const isCountedLink = (link: LinkRow, accountId: string): boolean => {
        const own = payments.filter(({ payment_link_id }) => payment_link_id === link.id);
        const open = own.filter(({ status }) => status === 'unknown' || status === 'pending');
        const paid = own.filter(({ status }) => status === 'paid');
        return link.account_id !== accountId || (link.open_count === open.length && isSum(link, paid));
      };

      const askedOf = ({ id, status }: AskedRow) => {
        const intent = intentOf.get(id);
        return { status, intentState: intent?.state ?? null, intentIdentity: intent?.identity ?? null };
      };
      const defencesOf = (id: string): StoredDefence[] => {
        const own = new Set(files.filter((file) => file.dispute_id === id).map((file) => file.id));
        return (defences.get(id) ?? []).map((one) => ({
          ...askedOf(one),
          ...{ id: one.id, reason: one.reason, attempts: one.attempts },
          lostFiles: one.file_ids.filter((file) => !own.has(file)).length,
        }));
      };
      const requests = Map.groupBy(
        requestsAboutCharges.flatMap(({ name: kind, table }) =>
          read<AskedRow>(table.name).map((row) => ({ kind, row })),
        ),
        ({ row }) => row.payment_id,
      );
      const journalsOf = (subject: string) =>
        (bySubject.get(subject) ?? []).map((journal) => ({
          chainId: journal.chain_id,
          event: journal.event,
          template: journal.template,
          reference: journal.reference,
          command: journal.command,
          pix: journal.pix,
          ...linesOf(journal),
        }));
      const credits = new Set(
        incidents
          .filter(({ resolution }) => resolution?.action === 'credit')
          .map(({ reference }) => reference),
      );
      const creditedOf = ({ id, end_to_end }: PaymentRow): StoredPayment['credited'] =>
        (bySubject.get(id) ?? [])
          .filter(({ event, reference }) => event === 7 && reference !== end_to_end)
          .filter(
            ({ reference }) =>
              credits.has(`suspense:${id}:${reference}`) ||
              (refunds.get(id) ?? []).some(
                (refund) => refund.end_to_end === reference && credits.has(`return_refused:${refund.id}`),
              ),
          )
          .map(({ reference, suspense }) => ({ endToEnd: reference, cents: suspense }));
      const storedPayment = (one: PaymentRow): StoredPayment => {
        const type = `${one.kind === 'deposit' ? 'charge' : 'transfer'}.${one.status}`;
        const intent = intentOf.get(one.id);
        return {
          accountId: one.account_id,
          accountNumber: accounts.find(({ id }) => id === one.account_id)?.number ?? -1,
          id: one.id,
          operationId: one.operation_id,
          kind: one.kind,
          status: one.status,
          reasonCode: one.reason_code,
          amountCents: one.amount_cents,
          feeCents: one.fee_cents,
          requestKey: one.request_key,
          createdAt: one.created_at,
          updatedAt: one.updated_at,
          endToEnd: one.end_to_end,
          providerFeeCents: one.provider_fee_cents,
          netAmountCents: one.net_amount_cents,
          returnedCents: one.returned_cents,
          refundedCents: one.refunded_cents,
          staticCodeId: one.static_code_id,
          codeIsOurs: codes.some(
            (code) => code.id === one.static_code_id && isIn(code, one) && code.connection === one.connection,
          ),
          linkIsOurs:
            one.payment_link_id === null ||
            links.some((link) => link.id === one.payment_link_id && isIn(link, one) && link.takes_pix),
          card: one.card,
          due: one.due,
          history: one.history,
          command: one.command,
          operationDeleted: operationOf.get(one.operation_id)?.deleted_at != null,
          intentState: intent?.state ?? null,
          intentIdentity: intent?.identity ?? null,
          leased: intent?.lease_until != null,
          expiresAt: one.expires_at,
          undecidedSince: intent?.absent_since ?? null,
          answeredAt: intent?.answered_at ?? null,
          incidents: incidents.filter(({ payment_id }) => payment_id === one.id).length,
          returns: (returns.get(one.id) ?? []).map((row) => ({
            reference: row.reference,
            pix: row.pix,
            id: row.return_id,
            rtrId: row.rtr_id,
            amountCents: row.amount_cents,
            posted: row.posted,
          })),
          keyTaken: taken.has(`${one.account_id} ${one.request_key}`),
          events: events.filter((event) => event.payment_id === one.id && event.type === type).length,
          journals: journalsOf(one.id),
          refunds: (refunds.get(one.id) ?? []).map((refund) => ({
            id: refund.id,
            operationId: refund.operation_id,
            endToEnd: refund.end_to_end,
            reason: refund.reason,
            status: refund.status,
            amountCents: refund.amount_cents,
            feeBackCents: refund.fee_back_cents,
            requestKey: refund.request_key,
            rtrId: refund.rtr_id,
            command: refund.command,
            history: refund.history,
            intentState: intentOf.get(refund.id)?.state ?? null,
            intentIdentity: intentOf.get(refund.id)?.identity ?? null,
            journals: journalsOf(refund.id),
          })),
          requests: (requests.get(one.id) ?? []).map(({ kind, row }) => ({
            kind,
            id: row.id,
            outcome: row.outcome ?? null,
            ...askedOf(row),
          })),
          disputes: (disputes.get(one.id) ?? []).map((dispute) => {
            const hold = holdOf.get(dispute.hold_id ?? '');
            return {
              id: dispute.id,
              endToEnd: dispute.end_to_end,
              amountCents: dispute.amount_cents,
              debitedCents: dispute.debited_cents,
              status: dispute.status,
              holdId: dispute.hold_id,
              wantedCents: hold?.released_at === null ? hold.wanted_cents : null,
              released: dispute.released_at !== null,
              defences: defencesOf(dispute.id),
            };
          }),
          credited: creditedOf(one),
        };
      };
      /** The expected reserve behind these intents. */
      const openCentsOf = (of: readonly IntentRow[]): number =>
        of.reduce((sum, { payment_id }) => {
          const refund = refundOf.get(payment_id);
          if (refund?.status === 'unknown' || refund?.status === 'pending') return sum + refund.amount_cents;
          const payment = paymentOf.get(payment_id);
          const open = payment?.status === 'unknown' || payment?.status === 'pending';
          return payment?.kind === 'transfer' && open ? sum + payment.amount_cents : sum;
        }, 0);
      const storedOperation = (one: OperationRow): StoredOperation => {
        const balance = balanceOf.get(one.id);
        const own = intents.filter((intent) => intent.operation_id === one.id);
        return {
          id: one.id,
          slot: one.slot,
          main: one.main === true,
          createdAt: one.created_at,
          deletedAt: one.deleted_at,
          hasBalance: balance !== undefined,
          available: balance?.available ?? 0,
          reserved: balance?.reserved ?? 0,
          held: balance?.held ?? 0,
          receivable: balance?.receivable ?? 0,
          holdWanted: balance?.hold_wanted ?? 0,
          cardHeld: balance?.card_held ?? 0,
          heldCardCents: payments
            .filter(({ operation_id, card }) => operation_id === one.id && card?.settlement === 'held')
            .reduce((sum, { amount_cents, card }) => sum + amount_cents - (card?.outCents ?? 0), 0),
          frozen: balance?.frozen ?? false,
          openHoldCents: holds
            .filter((hold) => hold.operation_id === one.id && hold.released_at === null)
            .reduce((sum, hold) => sum + hold.wanted_cents, 0),
          openTransferCents: openCentsOf(own),
          unfinished: own.length,
          freezingIncidents: incidents.filter(
            (incident) => incident.operation_id === one.id && incident.state === 'open' && incident.freezes,
          ).length,
        };
      };
      const storedJournal = (one: JournalRow): StoredJournal =>
        ({
          accountId: one.account_id,
          chainId: one.chain_id,
          seq: one.seq,
          template: one.template,
          subject: one.subject,
          event: one.event,
          reference: one.reference,
          effectiveAt: one.effective_at,
          postedAt: one.posted_at,
          command: one.command,
          connection: one.connection,
          pix: one.pix,
          version: one.version,
          previous: one.previous,
          hash: one.hash,
          lines: linesOf(one),
          after: {
            available: one.available_after,
            reserved: one.reserved_after,
            held: one.held_after,
            receivable: one.receivable_after,
            cardHeld: one.card_held_after,
          },
          paymentConnection:
            (paymentOf.get(one.subject) ?? paymentOf.get(refundOf.get(one.subject)?.payment_id ?? ''))
              ?.connection ?? null,
          clearingOf: one.connection ?? 'simulator',
          paymentOperationId: (paymentOf.get(one.subject) ?? refundOf.get(one.subject))?.operation_id ?? null,
          paymentId: paymentOf.get(one.subject)?.id ?? refundOf.get(one.subject)?.payment_id ?? null,
          movementCents: movementCentsOf(one),
          hasIncident:
            one.event === 7 &&
            references.has(
              one.subject === one.account_id
                ? `unmatched:${one.reference}`
                : `suspense:${one.subject}:${one.reference}`,
            ),
        }) as unknown as StoredJournal;

      return {
        incidents: incidents.map((one) => ({ payment: one.payment_id, kind: one.kind })),
        world,
        accounts: () =>
          each(
            accounts.map((account) => ({
              id: account.id,
              number: account.number,
              operations: operations.filter((one) => one.account_id === account.id).map(storedOperation),
              own: {
                reserved: balanceOf.get(account.id)?.reserved ?? 0,
                openCents: openCentsOf(intents.filter((intent) => intent.operation_id === account.id)),
              },
              // Nothing is lost with a database here.
              bookedElsewhere: 0,
              returnedElsewhere: sharedReturns(
                returns,
                (payment) => paymentOf.get(payment)?.account_id === account.id,
              ),
              miscountedCodes: codes.filter((code) => !isCounted(code, account.id)).length,
              miscountedLinks: links.filter((link) => !isCountedLink(link, account.id)).length,
              miscountedCash: 0,
              lostKeys: keys.filter(
                (one) =>
                  one.account_id === account.id &&
                  one.resource === 'operation' &&
                  !operationOf.has(one.resource_id),
              ).length,
            })),
          ),
        chains: () =>
          each(
            balances.map(
              (one): Chain => ({
                accountId: one.account_id,
                chainId: one.operation_id,
                available: one.available,
                reserved: one.reserved,
                held: one.held,
                receivable: one.receivable,
                holdWanted: one.hold_wanted,
                cardHeld: one.card_held,
                seq: one.seq,
                head: one.head,
                deletedAt: one.deleted_at,
                lastSeq: chains.get(one.operation_id)?.at(-1)?.seq ?? 0,
              }),
            ),
          ),
        start: () => Promise.resolve({ from: emptyChain, kept: [] }),
        journals: (chain) => each([(chains.get(chain.chainId) ?? []).map(storedJournal)]),
        payments: () => each([payments.map(storedPayment)]),
        openPayments: () => each([]),
        paymentsById: (_account, ids) =>
          Promise.resolve(ids.flatMap((id) => paymentOf.get(id) ?? []).map(storedPayment)),
        // Where days are closed, `verify` itself looks at the end.
        closes: () => Promise.resolve([]),
        connectionCloses: () => each([]),
        // The audit log as well.
        auditChains: () => each([]),
        auditStart: () => Promise.resolve({ from: null, earlier: null }),
        auditRows: () => each([]),
        strayAudits: () => each([]),
        strayRows: () =>
          each(
            [...chains]
              .filter(([id]) => !balanceOf.has(id))
              .map(([chainId, [one]]) => ({
                accountId: one?.account_id ?? '',
                chainId,
                fault: 'journals without a balance row',
              })),
          ),
        floatColumns: () => Promise.resolve(floats.map(({ name }) => name)),
        provider,
      };
    },
  };
}

const linesOf = (one: JournalRow): Lines => ({
  available: one.available,
  reserved: one.reserved,
  held: one.held,
  receivable: one.receivable,
  clearing: one.clearing,
  feeRevenue: one.fee_revenue,
  providerCost: one.provider_cost,
  suspense: one.suspense,
  adjustments: one.adjustments,
  cardHeld: one.card_held,
});

interface BalanceRow {
  account_id: string;
  operation_id: string;
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  hold_wanted: number;
  card_held: number;
  frozen: boolean;
  seq: number;
  head: Buffer;
  deleted_at: number | null;
}

interface OperationRow {
  account_id: string;
  id: string;
  slot: number | null;
  main: boolean | null;
  created_at: number;
  deleted_at: number | null;
}

interface PlaceRow {
  account_id: string;
  operation_id: string;
}

interface CountedRow extends PlaceRow {
  id: string;
  paid_count: number;
  paid_cents: number;
}

interface CodeRow extends CountedRow {
  connection: string;
}

interface LinkRow extends CountedRow {
  open_count: number;
  takes_pix: boolean;
}

interface AskedRow {
  id: string;
  payment_id: string;
  status: string;
  /** Of a change alone. */
  outcome?: string | null;
}

interface PaymentRow {
  account_id: string;
  id: string;
  operation_id: string;
  connection: string | null;
  static_code_id: string | null;
  payment_link_id: string | null;
  kind: string;
  status: string;
  reason_code: string | null;
  amount_cents: number;
  fee_cents: number;
  request_key: string;
  created_at: number;
  updated_at: number;
  end_to_end: string | null;
  provider_fee_cents: number | null;
  net_amount_cents: number | null;
  returned_cents: number;
  refunded_cents: number;
  expires_at: number | null;
  due: StoredPayment['due'];
  card: StoredPayment['card'];
  history: StoredPayment['history'];
  command: string;
}

interface IntentRow {
  payment_id: string;
  operation_id: string;
  state: string;
  identity: string | null;
  lease_until: number | null;
  absent_since: number | null;
  answered_at: number | null;
}

interface ReturnRow {
  payment: string;
  reference: string;
  pix: string | null;
  return_id: string | null;
  rtr_id: string | null;
  amount_cents: number;
  posted: boolean;
}

/** Returns of the payouts of an account that another payout has as well. */
function sharedReturns(
  returns: ReadonlyMap<string, readonly ReturnRow[]>,
  isOfAccount: (payment: string) => boolean,
): number {
  const posted = [...returns.values()].flat().filter((one) => one.pix === '' && one.posted);
  return posted.filter(
    ({ payment, rtr_id }) =>
      rtr_id !== null &&
      isOfAccount(payment) &&
      posted.some((other) => other.rtr_id === rtr_id && other.payment !== payment),
  ).length;
}

interface RefundRow {
  account_id: string;
  id: string;
  operation_id: string;
  payment_id: string;
  end_to_end: string;
  reason: string;
  status: string;
  amount_cents: number;
  fee_back_cents: number | null;
  request_key: string;
  rtr_id: string | null;
  history: StoredPayment['history'];
  command: string;
}

interface IncidentRow {
  payment_id: string | null;
  operation_id: string | null;
  kind: string;
  state: string;
  freezes: boolean;
  reference: string;
  resolution: { action: string } | null;
}

interface DisputeRow {
  id: string;
  payment_id: string;
  end_to_end: string;
  amount_cents: number;
  debited_cents: number;
  status: string;
  hold_id: string | null;
  released_at: number | null;
}

interface DefenceRow extends AskedRow {
  dispute_id: string;
  reason: string | null;
  attempts: number;
  file_ids: string[];
}

interface HoldRow {
  id: string;
  operation_id: string;
  wanted_cents: number;
  released_at: number | null;
}

interface KeyRow {
  account_id: string;
  request_key: string;
  resource: string;
  resource_id: string;
}

interface JournalRow {
  account_id: string;
  connection: string | null;
  pix: string | null;
  chain_id: string;
  seq: number;
  template: Movement['kind'];
  subject: string;
  event: number;
  reference: string;
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  clearing: number;
  fee_revenue: number;
  provider_cost: number;
  suspense: number;
  adjustments: number;
  available_after: number;
  reserved_after: number;
  held_after: number;
  receivable_after: number;
  card_held: number;
  card_held_after: number;
  effective_at: number;
  posted_at: number;
  command: string;
  version: number;
  previous: Buffer;
  hash: Buffer;
}
