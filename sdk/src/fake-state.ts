import type { FakeServer } from './fake.ts';
import { sampleEvent } from './samples.ts';
import type {
  Defence,
  Delivery,
  Dispute,
  EventType,
  Operation,
  Payment,
  Refund,
  StatementLine,
  VintemEvent,
  Webhook,
} from './types.ts';

/** What the fake service knows, and what its parts share. */
export interface State {
  ownerId: string;
  operations: (Operation & { deleted: boolean })[];
  payments: Stored[];
  refunds: Refund[];
  endpoints: Endpoint[];
  /** In the order in which they were made. */
  deliveries: StoredDelivery[];
  disputes: Dispute[];
  /** By dispute. */
  defences: Map<string, Defence>;
  /** Of drafts that are open. */
  codes: Map<string, { code: string; triesLeft: number; expiresAt: number }>;
  /** Each line of the statement with its business operation, oldest first. */
  lines: { operationId: string; line: Omit<StatementLine, 'endToEnd'> }[];
  /** How many movements a business operation had. */
  moved: Map<string, number>;
  /** What was said of a payment when it was made. */
  texts: Map<string, { description: string; payerName: string | null }>;
  /** Of a payment, in cents. */
  returned: Map<string, number>;
  clock: { started: boolean; aheadMs: number; to: string | null };
  moves: { at: number; aheadMs: number }[];
  events: VintemEvent[];
  /** What a requestKey was used for, and what came of it. */
  keys: Map<string, { fingerprint: string; answer: () => Answer }>;
  /** Called with each event. */
  listeners: Set<(event: VintemEvent) => void>;
  /** Attempts to deliver, one after the other. */
  delivering: Promise<void>;
}

export type Stored = Payment & { requestKey: string };

export interface Endpoint extends Omit<Webhook, 'status'> {
  secret: string;
  previous: { secret: string; until: number } | null;
  /** Since the last success. */
  failedAttempts: number;
  failedDeliveries: number;
}

export interface StoredDelivery extends Omit<Delivery, 'nextAttemptAt'> {
  endpointId: string;
  /** As it is sent, to the byte. */
  body: string;
  /** Place of the event in the log; that of a test lies between two. */
  place: number;
  /** In ms of the account's time. */
  dueAt: number;
  triesLeft: number;
  made: number;
}

export interface Answer {
  status: number;
  body: object;
  /** What a repeat with the same key shows, when it is not this body. */
  again?: () => object;
}

/** A file instead of a document. */
export interface FileAnswer {
  type: string;
  content: string;
}

export interface Received {
  operation: Operation;
  body: Record<string, unknown>;
  query: URLSearchParams;
  /** The parts of the path that are ids. */
  ids: string[];
  server: FakeServer;
}

export type Handler = (state: State, received: Received) => Answer | FileAnswer;

export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly more: object;
  constructor(status: number, code: string, more: object = {}) {
    super(code);
    this.status = status;
    this.code = code;
    this.more = more;
  }
}

export const secondMs = 1_000;
export const hourMs = 3_600_000;
export const dayMs = 86_400_000;

export const isoNow = (): string => new Date().toISOString();
export const accountNow = ({ clock }: State): number => Date.now() + clock.aheadMs;
export const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function newOperation(name: string, isDefault: boolean): Operation {
  const at = isoNow();
  return { id: crypto.randomUUID(), name, isDefault, balanceCents: 0, balanceUpdatedAt: at, createdAt: at };
}

/** Of an account without payments. */
export function emptyAccount(balanceCents: number): Omit<State, 'events' | 'listeners' | 'delivering'> {
  return {
    ownerId: crypto.randomUUID(),
    operations: [{ ...newOperation('Principal', true), balanceCents, deleted: false }],
    payments: [],
    refunds: [],
    endpoints: [],
    deliveries: [],
    disputes: [],
    defences: new Map(),
    codes: new Map(),
    lines: [],
    moved: new Map(),
    texts: new Map(),
    returned: new Map(),
    clock: { started: false, aheadMs: 0, to: null },
    moves: [],
    keys: new Map(),
  };
}

export function emit(state: State, type: EventType, data: object, change?: object): VintemEvent {
  const { id, timestamp, schemaVersion, livemode } = sampleEvent(type);
  const event = { id, type, timestamp, schemaVersion, livemode, ...(change ? { change } : {}), data };
  // A copy: a later change of the payment must not change the event.
  const frozen = JSON.parse(JSON.stringify(event)) as VintemEvent;
  state.events.push(frozen);
  for (const listener of state.listeners) listener(frozen);
  return frozen;
}

export function found(state: State, id: string, kind: Payment['kind']): Stored {
  const payment = state.payments.find((one) => one.id === id && one.kind === kind);
  if (!payment) throw new Error(`there is no ${kind} ${id}`);
  return payment;
}

export function one<Item extends { id: string }>(
  all: readonly Item[],
  id: string | undefined,
  code: string,
): Item {
  const item = all.find((each) => each.id === id);
  if (!item) throw new Refusal(404, code);
  return item;
}

export const invalid = (field: string, code: string): Refusal =>
  new Refusal(400, 'validation_failed', { message: [`${field}: ${code}`], details: [{ field, code }] });

export function known(body: Record<string, unknown>, names: string[]): void {
  for (const name of Object.keys(body)) if (!names.includes(name)) throw invalid(name, 'unknown_property');
}

export function amountOf({ amountCents }: Record<string, unknown>, min: number, max: number): number {
  if (!Number.isInteger(amountCents)) throw invalid('amountCents', 'not_an_integer');
  if (Number(amountCents) < min || Number(amountCents) > max) throw invalid('amountCents', 'out_of_range');
  return Number(amountCents);
}

export function textOf(body: Record<string, unknown>, name: string, min: number, max: number): string {
  const text = body[name];
  if (typeof text !== 'string') throw invalid(name, text === undefined ? 'required' : 'not_a_string');
  if ([...text].length < min || [...text].length > max) throw invalid(name, 'out_of_length');
  return text;
}

export function timeOf(body: Record<string, unknown>, name: string): number {
  const ms = Date.parse(textOf(body, name, 1, 64));
  if (Number.isNaN(ms)) throw invalid(name, 'not_a_time');
  return ms;
}

/** A cursor is the id of the last entry before the page, with the filters that it is for. */
export function pageOf<Item extends { id: string }>(all: Item[], query: URLSearchParams) {
  const limit = Number(query.get('limit') ?? 100);
  const filter = [...query].filter(([name]) => name !== 'cursor' && name !== 'limit').join('&');
  const cursor = query.get('cursor');
  const places = all.map((item) => btoa(`${item.id} ${filter}`));
  const after = cursor === null ? -1 : places.indexOf(cursor);
  if (cursor !== null && after < 0) throw new Refusal(400, 'invalid_cursor');
  const items = all.slice(after + 1, after + 1 + limit);
  const hasMore = after + 1 + limit < all.length;
  return { items, hasMore, nextCursor: hasMore ? (places[after + limit] ?? null) : null };
}
