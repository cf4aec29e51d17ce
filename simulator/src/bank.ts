import { hash } from 'node:crypto';
import {
  type Behaviour,
  behaviourOfKey,
  behaviourOfMessage,
  defaultBehaviour,
  refusalOfKey,
} from './behaviour.ts';
import type { Card, CardCash } from './cards.ts';
import { addDays, type DueTerms, dayAt, owedOn, type Parts, sumOf } from './cobv.ts';
import { addDue, type DueList, emptyDueList, nextDueAt, takeDue } from './due.ts';
import type { LookUps } from './look-ups.ts';
import {
  type Delivery,
  deliveryEnded,
  emptyOutbox,
  type Notification,
  nextDeliveryAt,
  notify,
  type Outbox,
  restoreNotification,
  takeDeliveries,
} from './outbox.ts';
import { type TermsName, terms as termsOf } from './terms.ts';
import type { World } from './world.ts';

/**
 * The provider itself, without I/O: its charges, received payments and payouts, and how each behaviour treats them.
 *
 * Every function that changes something answers with `writes`: the entries that must be in the journal before the
 * answer goes out. An entry carries a whole row and the last one wins, so that a restart needs no rules, only rows.
 *
 * A payout's life: the first request with an id makes a row that is only `seen`. A decision, made once, turns it
 * into `pending` (accepted) or `refused`. A pending one becomes `completed` or `refused` when it settles by itself or
 * by a control call; a completed one can come back, in parts, and is `returned` when all of it is back.
 */
export type Bank = {
  charges: Map<string, Charge>;
  /** In order of creation, as the other lists: a page of a list is a slice between two binary searches. */
  chargeList: Charge[];
  payments: Map<string, Payment>;
  /** Pages of an acquirer, by its own name of each, oldest first. */
  cards: Map<string, Card>;
  /** Moves between an acquirer's balance and the client's bank, oldest first. */
  cardCash: Map<string, CardCash>;
  /** Codes that were made by a call, by identifier; where a provider has no such call, none is here. */
  staticCodes: Map<string, StaticCode>;
  /** By the provider's id, in order of opening. */
  disputes: Map<string, Dispute>;
  /** Given as evidence, by account and their id. */
  files: Map<string, StoredFile>;
  paymentList: Payment[];
  /** Every id that was ever seen. */
  payouts: Map<string, Payout>;
  /** Those that were decided. */
  payoutList: Payout[];
  payoutsByEndToEnd: Map<string, Payout>;
  statement: StatementLine[];
  /** By name. Each client works for one, and one may have several clients. */
  accounts: Map<string, Account>;
  /** By account. */
  blocked: Map<string, Blocked>;
  /** The account that each Pix key belongs to, by the account's name. */
  keys: Map<string, string>;
  arrivals: Map<number, Arrival>;
  clients: Map<string, Client>;
  webhooks: Map<string, Webhook>;
  /** By account: whom the provider asks before a payout leaves. */
  questions: Map<string, Question>;
  /** By account: what a client has set of it. */
  configs: Map<string, AccountConfig>;
  /** Of Stark's web banking, by their ids. */
  projects: Map<string, Project>;
  /** Reports that were requested. Not kept: after a restart a client requests them again. */
  reports: Map<string, Report>;
  behaviour: Behaviour;
  /** The prices of the provider of this protocol. */
  terms: TermsName;
  outbox: Outbox;
  due: DueList<{ payout: Payout } | { arrival: Arrival } | { payment: Payment; refund: PixReturn }>;
  counts: Counts;
  /** Payments of payers less completed payouts that were not returned and what they cost. It limits payouts where `overdraft` says so. */
  balanceCents: number;
  /** The last moment that was given to a row: creation times never run backwards, or the lists lose their order. */
  lastMoment: number;
  nextArrival: number;
  /** Reports of returns so far: they come in turns where the form changes. Not kept. */
  returnReports: number;
  /** Look-ups of keys that each client has left. Not kept. */
  lookUps: Map<string, LookUps>;
  /** Signs the access tokens; kept, so that they survive a restart. */
  tokenSecret: string;
  /** PEM. Signs deliveries where the protocol has a published key; made when it is first needed, and kept. */
  signingKey: string;
};

/** A client's bank account: its rows in order of creation, as lists show them. Its name is the first key that a client showed. */
export type Account = {
  charges: Charge[];
  /** With a due date: they have lists of their own. */
  dueCharges: Charge[];
  payments: Payment[];
  payouts: Payout[];
  balanceCents: number;
};

/** Blocked money of an account, in cents. Money in dispute comes on top of it. */
export type Blocked = { account: string; judicialCents: number; medCents: number; cautionCents: number };

export type Charge = {
  txid: string;
  n: number;
  key: string;
  amountCents: number;
  createdAt: number;
  lifeSeconds: number;
  /** Set when the deadline was moved: what the calendar says from then on. */
  moved?: { createdAt: number; lifeSeconds: number };
  status: 'ATIVA' | 'CONCLUIDA' | 'REMOVIDA_PELO_USUARIO_RECEBEDOR' | 'REMOVIDA_PELO_PSP';
  revision: number;
  /** Parts of the request that the answer repeats as they came. */
  details: ChargeDetails;
  /** Of a charge with a due date (`cobv`); absent: it has none. */
  due?: DueTerms;
  withoutCode: boolean;
  /** endToEndIds of the payments it received. */
  payments: string[];
};

/** A code that is paid as often as payers like. `key`: whose account it pays into. */
export type StaticCode = {
  identifier: string;
  correlationID: string;
  key: string;
  name: string;
  amountCents?: number;
  createdAt: number;
};

export type ChargeDetails = {
  devedor?: unknown;
  solicitacaoPagador?: string;
  infoAdicionais?: { nome: string; valor: string }[];
  modalidadeAlteracao?: number;
  /** In small letters, where the protocol knows charges by these. */
  tags?: string[];
};

export type Payment = {
  endToEnd: string;
  txid: string;
  key: string;
  amountCents: number;
  at: number;
  n: number;
  /** Its place in the statement, as that of a completed payout and of a return. */
  line: number;
  /** A return to the payer, carried out or requested. */
  returns: PixReturn[];
  /** Of a charge with a due date, where the provider reports them. */
  parts?: Parts;
  /** The provider's fee, kept from it; absent: none. */
  feeCents?: number;
  /** How often each refund was asked for, by its id, also where the request was lost. */
  asked?: Record<string, number>;
};

export type PayoutRequest = {
  idEnvio: string;
  amountCents: number;
  payerKey: string;
  pixKey: string;
  payerInfo?: string;
  document?: string;
  /** It is sent once another call approves it. */
  needsApproval?: true;
  /** Parts of the request that the answer repeats as they came. */
  details?: Record<string, unknown>;
};

export type Payout = PayoutRequest & {
  n: number;
  status: 'seen' | 'pending' | 'completed' | 'refused' | 'returned';
  timesReceived: number;
  accepted: boolean;
  endToEnd: string;
  createdAt: number;
  /** When a pending one settles by itself, and how. */
  settleAt: number | undefined;
  settleAs: 'completed' | 'refused' | undefined;
  settledAt: number | undefined;
  line: number | undefined;
  refusal: Refusal | undefined;
  returns: PixReturn[];
  /** The provider's fee beside its amount; absent: none. */
  feeCents?: number;
  /** It waits for an approval. */
  held?: true;
  /** It was asked for beyond the balance. */
  beyond?: true;
  /** It was asked for beyond the limit of a new account. */
  overLimit?: true;
  /** The provider sent it by itself, to the company's own key: no call lists it, and the statement alone has it. */
  swept?: true;
  /** A person has removed it before it was sent: no call finds it any more. */
  removed?: true;
  /** It was refused in words of no table: its id is used, and no call finds it. */
  unlisted?: true;
  /** It leaves when the account's own address says so, and then ends like this. */
  asks?: { settleAs?: 'completed' | 'refused' };
};

export type Refusal = { code: string; reason: string };
/** The party that returns the Pix chooses `id`, which is unique only within one Pix; `rtrId` is unique. */
export type PixReturn = {
  id: string;
  rtrId: string;
  amountCents: number;
  at: number;
  /** Of a refund: when it was asked for, which does not change. */
  requestedAt?: number;
  /** Its place in the statement; none while it has not moved. */
  line?: number;
  /** Of a refund that the receiver asked for. Absent: it has moved. */
  state?: 'pending' | 'failed';
  /** When a pending one settles by itself, and how. */
  settleAt?: number;
  settleAs?: 'completed' | 'failed';
  message?: string;
};
/** A dispute (MED) of a received Pix. */
export type Dispute = {
  id: string;
  endToEnd: string;
  amountCents: number;
  status: 'ABERTA' | 'EM_DEFESA' | 'ACEITA' | 'REJEITADA' | 'CANCELADA_EFI';
  reason: string;
  openedAt: number;
  deadlineAt: number;
  endedAt?: number;
  /** The receiver's defence: a text, or files. */
  defence?: { text?: string; files?: StoredFile[]; at: number };
};
/** A file that a client gave, without its contents. */
export type StoredFile = {
  id: string;
  account: string;
  /** The client's. */
  correlationID: string;
  name: string;
  type: string;
  sizeBytes: number;
  sha256: string;
  at: number;
};
export type ReturnForm = Exclude<Behaviour['returnForm'], 'changing'>;
type Delayed = { request: PayoutRequest } | { refund: RefundRequest & { endToEnd: string; id: string } };
/** A request whose connection was dropped, and which arrives later. */
export type Arrival = Delayed & { n: number; at: number };
/** `account`: known once it has shown one of its Pix keys. */
export type Client = { id: string; secret: string; account?: string };
/** `events`: for protocols in which an address is registered for each of them. */
export type Webhook = {
  key: string;
  url: string;
  clientId: string;
  createdAt: number;
  events?: string[];
  /** It goes with each delivery, where the protocol has that. */
  token?: string;
};
/** An address that answers whether a payout may leave. */
export type Question = { account: string; url: string; token: string };
/** Settings of an account, as its client said them, and the Pix keys whose deliveries name no fee by them. */
export type AccountConfig = {
  account: string;
  said: object;
  withoutFees: { received: string[]; sent: string[] };
};
/** It signs its calls with a key of its own, and works for an account. */
export type Project = { id: string; publicKey: string; account: string };
/** A report of a closed day, as it was requested. */
export type Report = { id: string; day: string; kinds: string[]; requestedAt: number };
export type Counts = { queries: number; webhooksSent: number };

export type StatementLine = {
  /** The Pix key of the account that it is about. */
  key: string;
  at: number;
  id: string;
  kind:
    | 'PIX_RECEBIDO'
    | 'PIX_ENVIADO'
    | 'DEVOLUCAO_RECEBIDA'
    | 'DEVOLUCAO_ENVIADA'
    | 'TARIFA_RECEBIDO'
    | 'TARIFA_ENVIADO';
  amountCents: number;
  endToEnd: string;
  txid?: string;
  idEnvio?: string;
};

export type Entry =
  | ['charge', Charge]
  | ['payment', Payment]
  | ['card', Card]
  | ['card-cash', CardCash]
  | ['static-code', StaticCode]
  | ['dispute', Dispute]
  | ['file', StoredFile]
  | ['payout', Payout]
  | ['arrival', Arrival]
  | ['arrived', number]
  | ['client', Client]
  | ['key', { key: string; account: string }]
  | ['webhook', Webhook]
  | ['webhook-removed', string]
  | ['question', Question]
  | ['config', AccountConfig]
  | ['project', Project]
  | ['behaviour', Behaviour]
  | ['blocked', Blocked]
  | ['notification', Notification]
  | ['notified', number[]]
  | ['counts', Counts]
  | ['token-secret', string]
  | ['signing-key', string];

/** The reply that the socket of a request gets: an answer made from `answer`, the end of the connection, nothing, nonsense. */
export type Fate<A> = { fate: 'answer'; answer: A } | { fate: 'drop' | 'hang' | 'garbage' | 'error-500' };

const refusedInAnswer: Refusal = { code: 'AC03', reason: 'Pagamento negado pelo simulador' };
const refusedLater: Refusal = { code: 'AC03', reason: 'Conta do recebedor inexistente ou inválida' };
const overLimit: Refusal = { code: 'limite', reason: 'Limite de transferência atingido' };
const withoutBalance: Refusal = { code: 'SALDO', reason: 'Saldo insuficiente' };
const keyNotFound: Refusal = {
  code: 'chave_favorecido_nao_encontrada',
  reason: 'A chave do favorecido não foi encontrada',
};

/** Keys that rules of the Central Bank restrict. */
const keyRestricted: Refusal = {
  code: 'chave_restrita',
  reason: 'A chave do favorecido está associada a uma conta ou a um usuário com restrição',
};
const refusalsInAnswer = {
  'refuse-in-answer': refusedInAnswer,
  'pix-key-not-found': keyNotFound,
  'key-restricted': keyRestricted,
};

/** No participant of the SPI has this ISPB. */
const ispb = '99999999';

export function emptyBank(terms: TermsName = 'free'): Bank {
  return {
    charges: new Map(),
    chargeList: [],
    cards: new Map(),
    cardCash: new Map(),
    staticCodes: new Map(),
    disputes: new Map(),
    files: new Map(),
    payments: new Map(),
    paymentList: [],
    payouts: new Map(),
    payoutList: [],
    payoutsByEndToEnd: new Map(),
    statement: [],
    accounts: new Map(),
    blocked: new Map(),
    keys: new Map(),
    arrivals: new Map(),
    clients: new Map(),
    webhooks: new Map(),
    questions: new Map(),
    configs: new Map(),
    projects: new Map(),
    reports: new Map(),
    behaviour: { ...defaultBehaviour },
    terms,
    outbox: emptyOutbox(),
    due: emptyDueList(),
    counts: { queries: 0, webhooksSent: 0 },
    balanceCents: 0,
    lastMoment: 0,
    nextArrival: 1,
    returnReports: 0,
    lookUps: new Map(),
    tokenSecret: '',
    signingKey: '',
  };
}

// ---------------------------------------------------------------------------------------------- charges

export type ChargeRequest = {
  txid: string;
  key: string;
  amountCents: number;
  lifeSeconds: number;
  details: ChargeDetails;
  due?: DueTerms;
};

/**
 * A request to create a charge. An id that exists gets the duplicate answer, whatever is set; what is lost or failed
 * before it is read is lost even when it is malformed (`request` undefined: it does not respect the schema).
 */
export function createCharge(
  bank: Bank,
  world: World,
  txid: string,
  request: ChargeRequest | undefined,
): Fate<{ created: Charge } | 'duplicate' | 'malformed' | 'refused' | 'unlisted'> & { writes: Entry[] } {
  const existing = bank.charges.get(txid);
  if (existing !== undefined) return { fate: 'answer', answer: 'duplicate', writes: [] };
  const behaviour = bank.behaviour.charge;
  if (behaviour === 'lose-request') return { fate: 'drop', writes: [] };
  if (behaviour === 'error-500') return { fate: 'error-500', writes: [] };
  if (request === undefined) return { fate: 'answer', answer: 'malformed', writes: [] };
  if (behaviour === 'refuse') return { fate: 'answer', answer: 'refused', writes: [] };
  if (behaviour === 'refuse-unknown') return { fate: 'answer', answer: 'unlisted', writes: [] };

  const charge: Charge = {
    ...request,
    n: bank.chargeList.length,
    createdAt: moment(bank, world),
    status: 'ATIVA',
    revision: 0,
    withoutCode: behaviour === 'no-code',
    payments: [],
  };
  bank.charges.set(txid, charge);
  bank.chargeList.push(charge);
  listOf(bank, charge).push(charge);
  const writes: Entry[] = [['charge', charge]];
  if (behaviour === 'lose-answer') return { fate: 'drop', writes };
  if (behaviour === 'hang') return { fate: 'hang', writes };
  return { fate: 'answer', answer: { created: charge }, writes };
}

/** A change of a charge, or its removal. */
export type Revision = 'remove' | Partial<Omit<ChargeRequest, 'txid'>>;

/** The receiver changes an active charge, or removes it. */
function reviseCharge(charge: Charge, change: Revision): { writes: Entry[] } {
  if (change === 'remove') charge.status = 'REMOVIDA_PELO_USUARIO_RECEBEDOR';
  else Object.assign(charge, change, { details: { ...charge.details, ...change.details } });
  if (change !== 'remove' && change.lifeSeconds !== undefined) delete charge.moved;
  charge.revision++;
  return { writes: [['charge', charge]] };
}

/** The receiver takes an active charge back. `ended`: it is not active, and a payer may have been quicker. */
export function cancelCharge(
  bank: Bank,
  world: World,
  charge: Charge,
): Fate<'removed' | 'ended' | 'refused'> & { writes: Entry[] } {
  const behaviour = bank.behaviour.cancel;
  if (behaviour === 'lose-request') return { fate: 'drop', writes: [] };
  if (behaviour === 'error-500') return { fate: 'error-500', writes: [] };
  if (charge.status !== 'ATIVA') return { fate: 'answer', answer: 'ended', writes: [] };
  if (behaviour === 'refuse') return { fate: 'answer', answer: 'refused', writes: [] };
  if (behaviour === 'late-cancel')
    return { fate: 'answer', answer: 'ended', writes: payCharge(bank, world, charge.txid).writes };
  const { writes } = reviseCharge(charge, 'remove');
  if (behaviour === 'lose-answer') return { fate: 'drop', writes };
  if (behaviour === 'hang' || behaviour === 'garbage') return { fate: behaviour, writes };
  return { fate: 'answer', answer: 'removed', writes };
}

/** The receiver changes an active charge. `ended`: it is not active, and a payer may have been quicker. */
export function changeCharge(
  bank: Bank,
  world: World,
  charge: Charge,
  change: Exclude<Revision, 'remove'>,
): Fate<'changed' | 'ended' | 'refused'> & { writes: Entry[] } {
  const behaviour = bank.behaviour.change;
  if (behaviour === 'lose-request') return { fate: 'drop', writes: [] };
  if (behaviour === 'error-500') return { fate: 'error-500', writes: [] };
  if (charge.status !== 'ATIVA') return { fate: 'answer', answer: 'ended', writes: [] };
  if (behaviour === 'refuse') return { fate: 'answer', answer: 'refused', writes: [] };
  if (behaviour === 'late-change')
    return { fate: 'answer', answer: 'ended', writes: payCharge(bank, world, charge.txid).writes };
  const { writes } = reviseCharge(charge, change);
  if (behaviour === 'lose-answer') return { fate: 'drop', writes };
  if (behaviour === 'hang' || behaviour === 'garbage') return { fate: behaviour, writes };
  return { fate: 'answer', answer: 'changed', writes };
}

const brasiliaMs = 3 * 3_600_000;

/** The deadline that the calendar of the charge states, in milliseconds. */
export function deadlineOf(charge: Charge): number {
  // Weekends and holidays move it further: this is the first moment that it may be.
  if (charge.due) return Date.parse(addDays(charge.due.dueDate, charge.due.validAfterDue + 1)) + brasiliaMs;
  const calendar = charge.moved ?? charge;
  return calendar.createdAt + calendar.lifeSeconds * 1000;
}

/**
 * A payer pays, the whole amount or another one. A paid charge can be paid once more and an expired one late: a real
 * payer's bank would refuse the latter, but what arrives late is what a client must be tried with.
 */
export function payCharge(
  bank: Bank,
  world: World,
  txid: string,
  amountCents?: number,
  on?: string,
): { answer: { endToEnd: string } | 'not-found' | 'removed' | 'over'; writes: Entry[] } {
  const charge = bank.charges.get(txid);
  if (charge === undefined) return { answer: 'not-found', writes: [] };
  if (charge.status !== 'ATIVA' && charge.status !== 'CONCLUIDA') return { answer: 'removed', writes: [] };
  const owed = charge.due && owedOn(charge.amountCents, charge.due, on ?? dayAt(world.now()));
  if (charge.due && owed === undefined && amountCents === undefined) return { answer: 'over', writes: [] };
  charge.status = 'CONCLUIDA';
  const says = bank.behaviour.components;
  const isSaid = says === 'sent' || (says === 'own' && termsOf[bank.terms].saysParts);
  const { payment, writes } = receive(bank, world, {
    txid,
    key: charge.key,
    amountCents: amountCents ?? (owed ? sumOf(owed) : charge.amountCents),
    ...(owed && isSaid && { parts: owed }),
  });
  charge.payments.push(payment.endToEnd);
  return { answer: { endToEnd: payment.endToEnd }, writes: [['charge', charge], ...writes] };
}

/**
 * A payer pays a static code: a Pix that carries the code's identifier and belongs to no charge.
 * @param key absent: the account that made the code by a call, else the first one that is notified, else the first one
 */
export function payStatic(
  bank: Bank,
  world: World,
  identifier: string,
  amountCents: number,
  key: string | undefined,
): { answer: { endToEnd: string } | 'no-account'; writes: Entry[] } {
  const first = [...bank.webhooks.keys(), ...bank.accounts.keys()][0];
  const to = key ?? bank.staticCodes.get(identifier)?.key ?? first;
  if (to === undefined) return { answer: 'no-account', writes: [] };
  const { payment, writes } = receive(bank, world, { txid: identifier, key: to, amountCents });
  return { answer: { endToEnd: payment.endToEnd }, writes };
}

/** A code that a client makes by a call. @returns undefined: the identifier is taken */
export function createStaticCode(
  bank: Bank,
  world: World,
  code: Omit<StaticCode, 'createdAt'>,
): { made: StaticCode; writes: Entry[] } | undefined {
  if (bank.staticCodes.has(code.identifier)) return undefined;
  const made = { ...code, createdAt: moment(bank, world) };
  bank.staticCodes.set(made.identifier, made);
  return { made, writes: [['static-code', made]] };
}

function receive(
  bank: Bank,
  world: World,
  pix: Pick<Payment, 'txid' | 'key' | 'amountCents' | 'parts'>,
): { payment: Payment; writes: Entry[] } {
  const at = moment(bank, world);
  const payment: Payment = {
    endToEnd: endToEndAt(world, at, 'E'),
    ...pix,
    at,
    n: bank.paymentList.length,
    line: bank.statement.length,
    returns: [],
    ...feeOf(bank, termsOf[bank.terms].received(pix.amountCents)),
  };
  addPayment(bank, payment);
  bank.statement.push(lineOfPayment(payment), ...linesOfFee(payment));
  return {
    payment,
    writes: [
      ['payment', payment],
      ...report(bank, at, { key: pix.key, kind: 'payment', id: payment.endToEnd, returns: 0 }),
    ],
  };
}

/** Moves the deadline of an open charge two minutes into the past. */
export function expireCharge(
  bank: Bank,
  world: World,
  txid: string,
): { answer: 'done' | 'not-found' | 'closed'; writes: Entry[] } {
  const charge = bank.charges.get(txid);
  if (charge === undefined) return { answer: 'not-found', writes: [] };
  if (charge.status !== 'ATIVA') return { answer: 'closed', writes: [] };
  if (charge.due) {
    // Far enough for every holiday.
    charge.due.dueDate = addDays(dayAt(moment(bank, world)), -charge.due.validAfterDue - 12);
    return { answer: 'done', writes: [['charge', charge]] };
  }
  const deadline = moment(bank, world) - 120_000;
  const lifeSeconds = Math.floor((deadline - charge.createdAt) / 1000);
  // A life below a second is not allowed: the calendar of a young charge then says that it was created earlier.
  charge.moved =
    lifeSeconds >= 1
      ? { createdAt: charge.createdAt, lifeSeconds }
      : { createdAt: deadline - 1000, lifeSeconds: 1 };
  return { answer: 'done', writes: [['charge', charge]] };
}

/** The provider removes an open charge. */
export function removeCharge(
  bank: Bank,
  txid: string,
): { answer: 'done' | 'not-found' | 'closed'; writes: Entry[] } {
  const charge = bank.charges.get(txid);
  if (charge === undefined) return { answer: 'not-found', writes: [] };
  if (charge.status !== 'ATIVA') return { answer: 'closed', writes: [] };
  charge.status = 'REMOVIDA_PELO_PSP';
  return { answer: 'done', writes: [['charge', charge]] };
}

// ---------------------------------------------------------------------------------------------- payouts

export type PayoutAnswer =
  | { accepted: Payout }
  | { refused: Refusal }
  | 'duplicate'
  | 'malformed'
  | 'unlisted';

/**
 * A request to pay out. It is counted whatever becomes of it. An id that was decided is never decided anew and gets
 * the duplicate answer, whatever is set (`request` undefined: it does not respect the schema).
 */
export function requestPayout(
  bank: Bank,
  world: World,
  idEnvio: string,
  request: PayoutRequest | undefined,
): Fate<PayoutAnswer> & { writes: Entry[] } {
  let payout = bank.payouts.get(idEnvio);
  if (payout === undefined) {
    payout = seenPayout(idEnvio);
    bank.payouts.set(idEnvio, payout);
  }
  payout.timesReceived++;
  if (isDecided(payout)) {
    return { fate: 'answer', answer: 'duplicate', writes: [['payout', payout]] };
  }
  if (request !== undefined) Object.assign(payout, request);

  const steered = request === undefined ? undefined : behaviourOfKey(request.pixKey);
  const behaviour = steered ?? bank.behaviour.payout;
  if (behaviour === 'lose-request') return { fate: 'drop', writes: [['payout', payout]] };
  if (behaviour === 'error-500') return { fate: 'error-500', writes: [['payout', payout]] };
  if (request === undefined) return { fate: 'answer', answer: 'malformed', writes: [['payout', payout]] };

  switch (behaviour) {
    case 'pix-key-not-found':
    case 'key-restricted':
    case 'refuse-in-answer': {
      const refusal = refusalsInAnswer[behaviour];
      decide(bank, world, payout, 'refused');
      payout.settledAt = payout.createdAt;
      payout.refusal = refusal;
      return { fate: 'answer', answer: { refused: refusal }, writes: [['payout', payout]] };
    }
    case 'refuse-unknown':
      payout.unlisted = true;
      return { fate: 'answer', answer: 'unlisted', writes: [['payout', payout]] };
    case 'delay-request':
      return { fate: 'drop', writes: [['payout', payout], delay(bank, world, { request })] };
  }
  const over = isOverLimit(bank, world, request);
  if (over === 'refuse') {
    decide(bank, world, payout, 'refused');
    payout.settledAt = payout.createdAt;
    payout.refusal = overLimit;
    return { fate: 'answer', answer: { refused: overLimit }, writes: [['payout', payout]] };
  }
  // Money is asked for with its approval.
  const isBeyond =
    request.needsApproval === undefined &&
    bank.behaviour.overdraft === 'refuse' &&
    request.amountCents > payableCents(bank, request);
  if (isBeyond && termsOf[bank.terms].beyondBalance === 'refuse') {
    decide(bank, world, payout, 'refused');
    payout.settledAt = payout.createdAt;
    payout.refusal = withoutBalance;
    return { fate: 'answer', answer: { refused: withoutBalance }, writes: [['payout', payout]] };
  }
  const holds = termsOf[bank.terms].beyondBalance === 'hold';
  const treated = request.needsApproval
    ? 'hold-for-approval'
    : over === 'fail'
      ? 'refuse-later'
      : !isBeyond
        ? behaviour
        : holds
          ? 'hold-for-approval'
          : 'refuse-later';
  const asked = accept(bank, world, payout, treated);
  if (treated === 'hold-for-approval') payout.held = true;
  if (isBeyond) payout.beyond = true;
  if (over === 'fail') payout.overLimit = true;
  const writes: Entry[] = [['payout', payout], ...asked];
  if (behaviour === 'lose-answer') return { fate: 'drop', writes };
  if (behaviour === 'error-500-after-accepting') return { fate: 'error-500', writes };
  if (behaviour === 'hang' || behaviour === 'garbage') return { fate: behaviour, writes };
  return { fate: 'answer', answer: { accepted: payout }, writes };
}

/** Its id stands for what it became, and is never decided anew. */
export const isDecided = ({ status, unlisted }: Payout): boolean => status !== 'seen' || unlisted === true;

const dayMs = 24 * 3_600_000;

/** The fate of a payout that is more than a new account may send in a day; undefined: it is not, or the account is no new one. */
function isOverLimit(
  bank: Bank,
  world: World,
  { payerKey, amountCents }: PayoutRequest,
): 'refuse' | 'fail' | undefined {
  const { newAccount } = termsOf[bank.terms];
  if (bank.behaviour.account !== 'new' || newAccount === undefined) return undefined;
  const since = world.now() - dayMs;
  const sentCents = accountOf(bank, payerKey)
    .payouts.filter(({ status, createdAt }) => status !== 'refused' && createdAt > since)
    .reduce((sum, one) => sum + one.amountCents, 0);
  return sentCents + amountCents > newAccount.dayCents ? newAccount.beyond : undefined;
}

/** Approves a payout that waits for it, by a call of the account or by a person. */
export function approvePayout(
  bank: Bank,
  world: World,
  payout: Payout,
): Fate<'approved' | 'left' | 'not-waiting' | 'beyond' | 'unlisted'> & { writes: Entry[] } {
  const { confirm, overdraft } = bank.behaviour;
  if (confirm === 'lose-request') return { fate: 'drop', writes: [] };
  if (confirm === 'error-500') return { fate: 'error-500', writes: [] };
  const left = <Answer extends string>(answer: Answer) => ({
    ...{ fate: 'answer' as const, answer },
    writes: [] as Entry[],
  });
  if (confirm === 'refuse-unknown') return left('unlisted');
  if (payout.status !== 'pending' || payout.held === undefined) return left('not-waiting');
  const behaviour = behaviourOfKey(payout.pixKey) ?? bank.behaviour.payout;
  if (behaviour === 'hold-for-approval') return left('left');
  if (overdraft === 'refuse' && payableCents(bank, payout, payout) < payout.amountCents)
    return left('beyond');
  delete payout.held;
  if (behaviour !== 'stay-pending')
    settleSoon(bank, payout, behaviour === 'refuse-later' ? 'refused' : 'completed', world.now());
  const writes: Entry[] = [['payout', payout]];
  if (confirm === 'lose-answer') return { fate: 'drop', writes };
  if (confirm === 'hang' || confirm === 'garbage') return { fate: confirm, writes };
  return { fate: 'answer', answer: 'approved', writes };
}

/**
 * The provider pays out all that an account has, as Woovi does each evening unless its panel says otherwise (woovi-developers, docs/faq/withdraw.md).
 * @returns null: nothing is free
 */
export function sweep(
  bank: Bank,
  world: World,
  account: string,
): { answer: { endToEnd: string; amountCents: number } | null; writes: Entry[] } {
  const payout: Payout = { ...seenPayout(''), payerKey: account, pixKey: account, swept: true };
  const free = payableCents(bank, payout);
  if (free <= 0) return { answer: null, writes: [] };
  payout.amountCents = free;
  decide(bank, world, payout, 'pending');
  payout.idEnvio = `saque-${payout.n}`;
  payout.accepted = true;
  bank.payouts.set(payout.idEnvio, payout);
  payout.settledAt = payout.createdAt;
  leave(bank, payout, payout.createdAt);
  return { answer: { endToEnd: payout.endToEnd, amountCents: free }, writes: [['payout', payout]] };
}

/** The amount that the account may pay out: its balance less blocked money and payouts on their way, each with its fee. */
function payableCents(bank: Bank, { payerKey, amountCents }: PayoutRequest, except?: Payout): number {
  const name = accountNameOf(bank, payerKey);
  const { balanceCents, payouts } = bank.accounts.get(name) ?? emptyAccount();
  const onItsWay = payouts
    .filter((one) => one.status === 'pending' && !(one.held || one.beyond) && one !== except)
    .reduce((sum, one) => sum + one.amountCents + costOfSending(bank, one.amountCents), 0);
  return balanceCents - blockedOf(bank, name).totalCents - onItsWay - costOfSending(bank, amountCents);
}

const costOfSending = (bank: Bank, amountCents: number): number =>
  bank.behaviour.fees === 'on' ? termsOf[bank.terms].sent(amountCents) : 0;

/** Of a Pix, when the provider charges. */
const feeOf = (bank: Bank, feeCents: number): { feeCents?: number } =>
  bank.behaviour.fees === 'on' && feeCents > 0 ? { feeCents } : {};

/** Blocked money of an account; `medCents` includes money in dispute. */
export function blockedOf(bank: Bank, account: string) {
  const { judicialCents = 0, medCents = 0, cautionCents = 0 } = bank.blocked.get(account) ?? {};
  const med = medCents + disputedCents(bank, account);
  return { judicialCents, medCents: med, cautionCents, totalCents: judicialCents + med + cautionCents };
}

/** The provider blocks so much of an account, in the place of what it blocked before. */
export function setBlocked(bank: Bank, blocked: Blocked): Entry[] {
  bank.blocked.set(blocked.account, blocked);
  return [['blocked', blocked]];
}

function seenPayout(idEnvio: string): Payout {
  return {
    idEnvio,
    amountCents: 0,
    payerKey: '',
    pixKey: '',
    n: -1,
    status: 'seen',
    timesReceived: 0,
    accepted: false,
    endToEnd: '',
    createdAt: 0,
    settleAt: undefined,
    settleAs: undefined,
    settledAt: undefined,
    line: undefined,
    refusal: undefined,
    returns: [],
  };
}

/** @returns the question that is asked before it leaves, where the account has an address for that */
function accept(bank: Bank, world: World, payout: Payout, behaviour: string): Entry[] {
  decide(bank, world, payout, 'pending');
  payout.accepted = true;
  const waits = behaviour === 'stay-pending' || behaviour === 'hold-for-approval';
  const settleAs = behaviour === 'refuse-later' ? 'refused' : 'completed';
  const account = accountNameOf(bank, payout.payerKey);
  if (bank.questions.has(account)) {
    payout.asks = waits ? {} : { settleAs };
    const about = { key: account, kind: 'question' as const, id: payout.idEnvio, returns: 0 };
    const asked = notify(bank.outbox, { ...bank.behaviour, webhook: 'send' }, payout.createdAt, about);
    return asked === undefined ? [] : [['notification', asked]];
  }
  if (!waits) settleSoon(bank, payout, settleAs, payout.createdAt);
  return [];
}

function settleSoon(bank: Bank, payout: Payout, as: 'completed' | 'refused', now: number): void {
  payout.settleAs = as;
  payout.settleAt = now + bank.behaviour.settleAfterMs;
  addDue(bank.due, payout.settleAt, { payout });
}

const notApproved: Refusal = { code: 'CANCELADA', reason: 'A transferencia nao foi autorizada' };

/** The account's own address has answered, or has failed to, whether a payout may leave. */
export function decideWithdrawal(
  bank: Bank,
  world: World,
  payout: Payout,
  answer: 'approved' | 'refused' | 'unanswered',
): Entry[] {
  const { asks } = payout;
  if (asks === undefined || payout.status !== 'pending') return [];
  delete payout.asks;
  if (answer !== 'approved') return settle(bank, world, payout, notApproved);
  if (asks.settleAs !== undefined) settleSoon(bank, payout, asks.settleAs, world.now());
  return [['payout', payout]];
}

/** Whom the provider asks before a payout of the account leaves. */
export function setQuestion(bank: Bank, account: string, asked: Omit<Question, 'account'>): Entry[] {
  const question = { account, ...asked };
  bank.questions.set(account, question);
  return [['question', question]];
}

function decide(bank: Bank, world: World, payout: Payout, status: 'pending' | 'refused'): void {
  payout.createdAt = moment(bank, world);
  payout.endToEnd = endToEndAt(world, payout.createdAt, 'E');
  payout.status = status;
  payout.n = bank.payoutList.length;
  bank.payoutList.push(payout);
  accountOf(bank, payout.payerKey).payouts.push(payout);
  bank.payoutsByEndToEnd.set(payout.endToEnd, payout);
}

/** @param as undefined: refused without a reason */
function settle(bank: Bank, world: World, payout: Payout, as: 'completed' | Refusal | undefined): Entry[] {
  const at = moment(bank, world);
  payout.settledAt = at;
  payout.settleAt = undefined;
  payout.settleAs = undefined;
  if (as === 'completed') leave(bank, payout, at);
  else {
    payout.status = 'refused';
    payout.refusal = as;
  }
  return [
    ['payout', payout],
    ...report(bank, at, { key: payout.payerKey, kind: 'payout', id: payout.idEnvio, returns: 0 }),
  ];
}

function leave(bank: Bank, payout: Payout, at: number): void {
  payout.status = 'completed';
  payout.line = bank.statement.length;
  Object.assign(payout, feeOf(bank, termsOf[bank.terms].sent(payout.amountCents)));
  move(bank, payout.payerKey, -payout.amountCents - (payout.feeCents ?? 0));
  bank.statement.push(lineOfPayout(payout, at), ...linesOfFee(payout));
}

/** Decides a pending payout: sent, or refused with a reason. */
export function settlePayout(
  bank: Bank,
  world: World,
  idEnvio: string,
  as: 'completed' | Partial<Refusal>,
): { answer: 'done' | 'not-found' | 'not-pending'; writes: Entry[] } {
  const payout = bank.payouts.get(idEnvio);
  if (payout === undefined || !isDecided(payout)) return { answer: 'not-found', writes: [] };
  if (payout.status !== 'pending') return { answer: 'not-pending', writes: [] };
  const outcome = as === 'completed' ? as : { ...refusedLater, ...as };
  return { answer: 'done', writes: settle(bank, world, payout, outcome) };
}

/**
 * A person removes a payout that waits for an approval, as in Woovi's panel: "pagamentos com os status de em processamento ou confirmados não podem ser
 * removidos" (woovi-developers, docs/payment/payment-how-to-remove.md).
 */
export function removePayout(
  bank: Bank,
  world: World,
  idEnvio: string,
): { answer: 'done' | 'not-found' | 'not-waiting'; writes: Entry[] } {
  const payout = bank.payouts.get(idEnvio);
  if (payout === undefined || !isDecided(payout)) return { answer: 'not-found', writes: [] };
  if (payout.status !== 'pending' || payout.held === undefined) return { answer: 'not-waiting', writes: [] };
  delete payout.held;
  payout.status = 'refused';
  payout.removed = true;
  const about = { key: payout.payerKey, kind: 'payout' as const, id: idEnvio, returns: 0 };
  return { answer: 'done', writes: [['payout', payout], ...report(bank, world.now(), about)] };
}

/** A completed payout comes back, whole or in part; all returns together are at most what was sent. */
export function returnPayout(
  bank: Bank,
  world: World,
  idEnvio: string,
  amountCents?: number,
  id: string = world.letters(32),
): {
  answer: { returned: PixReturn } | 'not-found' | 'not-completed' | 'too-much' | 'taken';
  writes: Entry[];
} {
  const payout = bank.payouts.get(idEnvio);
  if (payout === undefined || !isDecided(payout)) return { answer: 'not-found', writes: [] };
  if (payout.status !== 'completed') return { answer: 'not-completed', writes: [] };
  const leftCents = payout.amountCents - returnedCents(payout);
  const returned = returnOf(bank, world, payout, amountCents ?? leftCents, id);
  if (returned === 'too-much' || returned === 'taken') return { answer: returned, writes: [] };
  if (returned.amountCents === leftCents) payout.status = 'returned';
  move(bank, payout.payerKey, returned.amountCents);
  bank.statement.push(lineOfReturn(payout, returned));
  return {
    answer: { returned },
    writes: [
      ['payout', payout],
      ...report(bank, returned.at, {
        key: payout.payerKey,
        kind: 'payout',
        id: idEnvio,
        returns: payout.returns.length,
      }),
    ],
  };
}

/** A received Pix goes back to its payer, whole or in part. */
export function returnPayment(
  bank: Bank,
  world: World,
  endToEnd: string,
  amountCents?: number,
  id: string = world.letters(32),
): { answer: { returned: PixReturn } | 'not-found' | 'too-much' | 'taken'; writes: Entry[] } {
  const payment = bank.payments.get(endToEnd);
  if (payment === undefined) return { answer: 'not-found', writes: [] };
  const leftCents = payment.amountCents - returnedCents(payment);
  const returned = returnOf(bank, world, payment, amountCents ?? leftCents, id);
  if (returned === 'too-much' || returned === 'taken') return { answer: returned, writes: [] };
  move(bank, payment.key, -returned.amountCents);
  bank.statement.push(lineOfDebit(payment, returned));
  return {
    answer: { returned },
    writes: [
      ['payment', payment],
      ...report(bank, returned.at, {
        key: payment.key,
        kind: 'payment',
        id: endToEnd,
        returns: payment.returns.length,
      }),
    ],
  };
}

const defenceMs = 3 * 24 * 3_600_000;

const uuidOf = (letters: string): string =>
  hash('sha256', letters).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

/** A payer disputes a received Pix, in whole or in part. */
export function openDispute(
  bank: Bank,
  world: World,
  endToEnd: string,
  amountCents?: number,
): { answer: Dispute | 'not-found' | 'too-much'; writes: Entry[] } {
  const payment = bank.payments.get(endToEnd);
  if (payment === undefined) return { answer: 'not-found', writes: [] };
  const cents = amountCents ?? payment.amountCents;
  if (cents > payment.amountCents) return { answer: 'too-much', writes: [] };
  const openedAt = moment(bank, world);
  const dispute: Dispute = {
    id: uuidOf(world.letters(32)),
    endToEnd,
    amountCents: cents,
    status: 'ABERTA',
    reason: 'golpe',
    openedAt,
    deadlineAt: openedAt + defenceMs,
  };
  bank.disputes.set(dispute.id, dispute);
  return { answer: dispute, writes: [['dispute', dispute]] };
}

export const disputeActions = {
  open: 'ABERTA',
  defend: 'EM_DEFESA',
  accept: 'ACEITA',
  reject: 'REJEITADA',
  cancel: 'CANCELADA_EFI',
} as const;

/** The provider moves a dispute. Whether and when it takes the money is another call: `returnPayment`. */
export function moveDispute(
  bank: Bank,
  world: World,
  id: string,
  action: keyof typeof disputeActions,
): { answer: Dispute | 'not-found'; writes: Entry[] } {
  const dispute = bank.disputes.get(id);
  if (dispute === undefined) return { answer: 'not-found', writes: [] };
  dispute.status = disputeActions[action];
  if (action === 'open' || action === 'defend') delete dispute.endedAt;
  else dispute.endedAt = moment(bank, world);
  return { answer: dispute, writes: [['dispute', dispute]] };
}

/**
 * The receiver contests what the payer claims, in time: once with a text, with files as often as it likes, each of which is kept once.
 */
export function defendDispute(
  bank: Bank,
  world: World,
  dispute: Dispute,
  said: { text: string } | { files: readonly StoredFile[] },
): Fate<'taken' | 'defended' | 'late' | 'refused'> & { writes: Entry[] } {
  const at = moment(bank, world);
  const behaviour = bank.behaviour.defence;
  if (behaviour === 'lose-request') return { fate: 'drop', writes: [] };
  if (behaviour === 'error-500') return { fate: 'error-500', writes: [] };
  const isSaid = dispute.defence?.text !== undefined || dispute.status === 'EM_DEFESA';
  if (isSaid && 'text' in said) return { fate: 'answer', answer: 'defended', writes: [] };
  const isOpen = dispute.status === 'ABERTA' || dispute.status === 'EM_DEFESA';
  if (!isOpen || at > dispute.deadlineAt) return { fate: 'answer', answer: 'late', writes: [] };
  if (behaviour === 'refuse') return { fate: 'answer', answer: 'refused', writes: [] };
  if ('text' in said) {
    dispute.defence = { text: said.text, at };
    dispute.status = 'EM_DEFESA';
  } else {
    const there = dispute.defence?.files ?? [];
    const more = said.files.filter(({ id }) => !there.some((one) => one.id === id));
    dispute.defence = { ...dispute.defence, files: [...there, ...more], at: dispute.defence?.at ?? at };
  }
  const writes: Entry[] = [['dispute', dispute]];
  if (behaviour === 'lose-answer') return { fate: 'drop', writes };
  if (behaviour === 'hang') return { fate: 'hang', writes };
  return { fate: 'answer', answer: 'taken', writes };
}

/** Keeps a file, once under each of the client's ids. */
export function storeFile(
  bank: Bank,
  world: World,
  given: Omit<StoredFile, 'id' | 'at'>,
): { file: StoredFile; isNew: boolean; writes: Entry[] } {
  const key = `${given.account} ${given.correlationID}`;
  const there = bank.files.get(key);
  if (there !== undefined) return { file: there, isNew: false, writes: [] };
  const file = { ...given, id: hash('sha256', world.letters(32)).slice(0, 24), at: moment(bank, world) };
  bank.files.set(key, file);
  return { file, isNew: true, writes: [['file', file]] };
}

/** The disputes of an account's received Pix. */
export const disputesOf = (bank: Bank, account: string): Dispute[] =>
  [...bank.disputes.values()].filter(({ endToEnd }) => {
    const payment = bank.payments.get(endToEnd);
    return payment !== undefined && accountNameOf(bank, payment.key) === account;
  });

/** The amount that undecided disputes keep back. */
export function disputedCents(bank: Bank, account: string): number {
  let cents = 0;
  for (const { status, amountCents } of disputesOf(bank, account))
    if (status === 'ABERTA' || status === 'EM_DEFESA') cents += amountCents;
  return cents;
}

export type RefundRequest = { amountCents: number; message: string };

export type RefundAnswer =
  | { accepted: PixReturn }
  | 'not-found'
  | 'duplicate'
  | 'malformed'
  | 'too-much'
  | 'refused'
  | 'unlisted';

/**
 * A request to give a received Pix back. An id that exists gets the duplicate answer, whatever is set (`request` undefined: it does not
 * respect the schema).
 */
export function requestRefund(
  bank: Bank,
  world: World,
  endToEnd: string,
  id: string,
  request: RefundRequest | undefined,
): Fate<RefundAnswer> & { writes: Entry[] } {
  const payment = bank.payments.get(endToEnd);
  if (payment === undefined) return { fate: 'answer', answer: 'not-found', writes: [] };
  payment.asked = { ...payment.asked, [id]: (payment.asked?.[id] ?? 0) + 1 };
  const writes: Entry[] = [['payment', payment]];
  const answered = (answer: RefundAnswer) => ({ fate: 'answer' as const, answer, writes });
  if (payment.returns.some((one) => one.id === id)) return answered('duplicate');
  const behaviour = (request && behaviourOfMessage(request.message)) ?? bank.behaviour.refund;
  if (behaviour === 'lose-request') return { fate: 'drop', writes };
  if (behaviour === 'error-500') return { fate: 'error-500', writes };
  if (request === undefined) return answered('malformed');
  if (behaviour === 'refuse-in-answer') return answered('refused');
  if (behaviour === 'refuse-unknown') return answered('unlisted');
  if (behaviour === 'delay-request') {
    writes.push(delay(bank, world, { refund: { ...request, endToEnd, id } }));
    return { fate: 'drop', writes };
  }
  if (request.amountCents > payment.amountCents - returnedCents(payment)) return answered('too-much');
  const refund = acceptRefund(bank, world, payment, id, request);
  if (behaviour === 'complete-in-answer')
    writes.push(...settleRefund(bank, world, payment, refund, 'completed'));
  else if (behaviour !== 'stay-pending')
    settleRefundLater(bank, payment, refund, behaviour === 'refuse-later' ? 'failed' : 'completed');
  if (behaviour === 'lose-answer') return { fate: 'drop', writes };
  if (behaviour === 'error-500-after-accepting') return { fate: 'error-500', writes };
  if (behaviour === 'hang' || behaviour === 'garbage') return { fate: behaviour, writes };
  return answered({ accepted: refund });
}

function acceptRefund(
  bank: Bank,
  world: World,
  payment: Payment,
  id: string,
  { amountCents, message }: RefundRequest,
): PixReturn {
  const at = moment(bank, world);
  const rtrId = endToEndAt(world, at, 'D');
  const refund: PixReturn = { id, rtrId, amountCents, at, requestedAt: at, state: 'pending', message };
  payment.returns.push(refund);
  return refund;
}

function settleRefundLater(
  bank: Bank,
  payment: Payment,
  refund: PixReturn,
  settleAs: 'completed' | 'failed',
): void {
  refund.settleAs = settleAs;
  refund.settleAt = refund.at + bank.behaviour.settleAfterMs;
  addDue(bank.due, refund.settleAt, { payment, refund });
}

/** Decides a pending refund. */
export function settleRefund(
  bank: Bank,
  world: World,
  payment: Payment,
  refund: PixReturn,
  as: 'completed' | 'failed',
): Entry[] {
  if (refund.state !== 'pending') return [];
  const at = moment(bank, world);
  delete refund.settleAt;
  delete refund.settleAs;
  refund.at = at;
  if (as === 'failed') refund.state = 'failed';
  else {
    delete refund.state;
    refund.line = bank.statement.length;
    move(bank, payment.key, -refund.amountCents);
    bank.statement.push(lineOfDebit(payment, refund));
  }
  const { key, endToEnd, returns } = payment;
  return [
    ['payment', payment],
    ...report(bank, at, {
      ...{ key, kind: 'payment', id: endToEnd, returns: returns.length },
      about: returns.indexOf(refund) + 1,
    }),
  ];
}

/** A person has everything that was to tell of a payment or a payout sent again, as a provider's panel can. */
export function resend(bank: Bank, world: World, of: Payment | Payout): Entry[] {
  const at = moment(bank, world);
  const about =
    'idEnvio' in of
      ? { key: of.payerKey, kind: 'payout' as const, id: of.idEnvio }
      : { key: of.key, kind: 'payment' as const, id: of.endToEnd };
  const isDecided = !('idEnvio' in of) || of.settledAt !== undefined;
  const told = isDecided ? [{ returns: 0 }] : [];
  const returned = of.returns.flatMap((one, n) =>
    one.state === 'pending' ? [] : [{ returns: of.returns.length, about: n + 1 }],
  );
  return [...told, ...returned].flatMap((one) => report(bank, at, { ...about, ...one }));
}

/** Adds a return to what is returned. All of its returns together are at most its amount, and each has an id of its own. */
function returnOf(
  bank: Bank,
  world: World,
  of: { amountCents: number; returns: PixReturn[] },
  amountCents: number,
  id: string,
): PixReturn | 'too-much' | 'taken' {
  if (amountCents < 1 || amountCents > of.amountCents - returnedCents(of)) return 'too-much';
  if (of.returns.some((one) => one.id === id)) return 'taken';
  const at = moment(bank, world);
  const rtrId = endToEndAt(world, at, 'D');
  const returned: PixReturn = { id, rtrId, amountCents, at, line: bank.statement.length };
  of.returns.push(returned);
  return returned;
}

const turns = ['id', 'rtrId', 'both'] as const;

/** The form of the next report of a return. */
export function nextReturnForm(bank: Bank): ReturnForm {
  const { returnForm } = bank.behaviour;
  if (returnForm !== 'changing') return returnForm;
  return turns[bank.returnReports++ % turns.length] as ReturnForm;
}

/** The returned amount, returns on their way included. */
export function returnedCents({ returns }: { returns: readonly PixReturn[] }): number {
  return returns.reduce((sum, one) => sum + (one.state === 'failed' ? 0 : one.amountCents), 0);
}

// ------------------------------------------------------------------------------ time, webhooks, settings

/** When passTime has something to do next, or undefined. */
export function nextTurnAt(bank: Bank): number | undefined {
  const due = nextDueAt(bank.due);
  const delivery = nextDeliveryAt(bank.outbox);
  if (due === undefined || delivery === undefined) return due ?? delivery;
  return Math.min(due, delivery);
}

/** Everything that time alone brings: settlements, delayed requests that arrive, deliveries that are due. */
export function passTime(
  bank: Bank,
  world: World,
  perDelivery?: number,
): { deliveries: Delivery[]; writes: Entry[] } {
  const writes: Entry[] = [];
  const now = world.now();
  for (const what of takeDue(bank.due, now)) {
    if ('arrival' in what) {
      writes.push(...arrive(bank, world, what.arrival));
    } else if ('refund' in what) {
      if (what.refund.settleAt !== undefined)
        writes.push(
          ...settleRefund(bank, world, what.payment, what.refund, what.refund.settleAs ?? 'completed'),
        );
    } else if (what.payout.status === 'pending' && what.payout.settleAt !== undefined) {
      const { settleAs } = what.payout;
      const as = settleAs === 'refused' ? refusalOf(what.payout) : 'completed';
      writes.push(...settle(bank, world, what.payout, as));
    }
  }
  const deliveryAt = nextDeliveryAt(bank.outbox);
  if (deliveryAt === undefined || deliveryAt > now) return { deliveries: [], writes };
  const { deliveries, dropped } = takeDeliveries(bank.outbox, bank.behaviour, now, perDelivery);
  if (dropped.length > 0) writes.push(['notified', dropped]);
  return { deliveries, writes };
}

/** Why a payout is refused that was taken at first. */
function refusalOf({ pixKey, beyond, overLimit: isOver }: Payout): Refusal | undefined {
  if (isOver) return undefined;
  return beyond ? withoutBalance : (refusalOfKey(pixKey) ?? refusedLater);
}

/** A delayed request arrives after its connection was dropped: it is accepted, unless its id was decided by now. */
function arrive(bank: Bank, world: World, arrival: Arrival): Entry[] {
  bank.arrivals.delete(arrival.n);
  const writes: Entry[] = [['arrived', arrival.n]];
  if ('refund' in arrival) {
    const { endToEnd, id, ...request } = arrival.refund;
    const payment = bank.payments.get(endToEnd);
    if (payment === undefined || payment.returns.some((one) => one.id === id)) return writes;
    if (request.amountCents > payment.amountCents - returnedCents(payment)) return writes;
    settleRefundLater(bank, payment, acceptRefund(bank, world, payment, id, request), 'completed');
    return [...writes, ['payment', payment]];
  }
  const payout = bank.payouts.get(arrival.request.idEnvio);
  if (payout === undefined || isDecided(payout)) return writes;
  Object.assign(payout, arrival.request);
  const asked = accept(bank, world, payout, 'complete');
  return [...writes, ['payout', payout], ...asked];
}

/** A report takes a moment to be made. */
export const reportMadeAfterMs = 200;

/** The report of a day; the same request gives the same one again. */
export function requestReport(bank: Bank, world: World, asked: Pick<Report, 'day' | 'kinds'>): Report {
  for (const report of bank.reports.values())
    if (report.day === asked.day && report.kinds.join() === asked.kinds.join()) return report;
  const report = { id: world.letters(32), ...asked, requestedAt: world.now() };
  bank.reports.set(report.id, report);
  return report;
}

/** Sends a webhook only where an address is registered for the key. */
export function report(
  bank: Bank,
  now: number,
  about: Pick<Notification, 'key' | 'kind' | 'id' | 'returns' | 'about'>,
): Entry[] {
  if (!bank.webhooks.has(about.key)) return [];
  const notification = notify(bank.outbox, bank.behaviour, now, about);
  return notification === undefined ? [] : [['notification', notification]];
}

export function endDelivery(bank: Bank, world: World, delivery: Delivery, delivered: boolean): Entry[] {
  const done = deliveryEnded(bank.outbox, delivery, delivered, world.now());
  return done.length === 0 ? [] : [['notified', done]];
}

/** Remembers the secret of a client, which signs its webhooks; the last one that it showed counts. */
export function rememberClient(bank: Bank, client: Client): Entry[] {
  const known = bank.clients.get(client.id);
  if (known?.secret === client.secret) return [];
  const kept = { ...known, ...client };
  bank.clients.set(client.id, kept);
  return [['client', kept]];
}

/** A client shows one of its Pix keys: it works for the account of this key, and a new key belongs to the account that it works for. */
export function showKey(bank: Bank, clientId: string, key: string): Entry[] {
  const client = bank.clients.get(clientId);
  if (client === undefined) return [];
  const account = bank.keys.get(key) ?? (bank.accounts.has(key) ? key : (client.account ?? key));
  const writes: Entry[] = [];
  if (!bank.keys.has(key)) {
    bank.keys.set(key, account);
    writes.push(['key', { key, account }]);
  }
  if (client.account !== account) {
    client.account = account;
    writes.push(['client', client]);
  }
  return writes;
}

/** The account that a client works for. */
export const accountNameFor = (bank: Bank, clientId: string): string =>
  bank.clients.get(clientId)?.account ?? clientId;

/** A key that no client has shown is an account of its own. */
export const accountNameOf = (bank: Bank, key: string): string => bank.keys.get(key) ?? key;

/** The balance of the client's account. */
export const accountFor = (bank: Bank, clientId: string): Account =>
  bank.accounts.get(accountNameFor(bank, clientId)) ?? emptyAccount();

const emptyAccount = (): Account => ({
  ...{ charges: [], dueCharges: [], payments: [], payouts: [], balanceCents: 0 },
});

/** The list of its account that a charge is in. */
function listOf(bank: Bank, { key, due }: Charge): Charge[] {
  const { charges, dueCharges } = accountOf(bank, key);
  return due ? dueCharges : charges;
}

function accountOf(bank: Bank, key: string): Account {
  const name = accountNameOf(bank, key);
  let account = bank.accounts.get(name);
  if (account === undefined) {
    account = emptyAccount();
    bank.accounts.set(name, account);
  }
  return account;
}

function move(bank: Bank, key: string, cents: number): void {
  bank.balanceCents += cents;
  accountOf(bank, key).balanceCents += cents;
}

export function registerWebhook(bank: Bank, world: World, webhook: Omit<Webhook, 'createdAt'>): Entry[] {
  const registered = { ...webhook, createdAt: world.now() };
  bank.webhooks.set(webhook.key, registered);
  return [['webhook', registered]];
}

export function removeWebhook(bank: Bank, key: string): Entry[] {
  return bank.webhooks.delete(key) ? [['webhook-removed', key]] : [];
}

export function setProject(bank: Bank, project: Project): Entry[] {
  bank.projects.set(project.id, project);
  return [['project', project]];
}

export function setConfig(bank: Bank, config: AccountConfig): Entry[] {
  bank.configs.set(config.account, config);
  return [['config', config]];
}

export function setBehaviour(bank: Bank, behaviour: Behaviour): Entry[] {
  bank.behaviour = behaviour;
  return [['behaviour', behaviour]];
}

/** Milliseconds for a new row, never before those of the rows that exist. */
export function moment(bank: Bank, world: World): number {
  bank.lastMoment = Math.max(bank.lastMoment, world.now());
  return bank.lastMoment;
}

/** `E` (or `D` for a return), ISPB, `yyyyMMddHHmm` in UTC and 11 letters or digits: 32 characters. */
function endToEndAt(world: World, at: number, first: 'E' | 'D'): string {
  const minute = Math.floor(at / 60_000);
  if (minute !== lastMinute.minute) {
    const text = new Date(at).toISOString().slice(0, 16).replace(/[-T:]/g, '');
    lastMinute = { minute, text };
  }
  return first + ispb + lastMinute.text + world.letters(11);
}

// A minute is written thousands of times.
let lastMinute = { minute: 0, text: '197001010000' };

// -------------------------------------------------------------------------------------------- statement

function lineOfPayment(payment: Payment): StatementLine {
  const { endToEnd, key, amountCents, txid, at } = payment;
  return { key, at, id: endToEnd, kind: 'PIX_RECEBIDO', amountCents, endToEnd, txid };
}

function lineOfPayout(payout: Payout, at: number): StatementLine {
  const { endToEnd, payerKey: key, amountCents, idEnvio } = payout;
  return { key, at, id: endToEnd, kind: 'PIX_ENVIADO', amountCents, endToEnd, idEnvio };
}

/** The line of the provider's fee, behind the payment's own line. */
function linesOfFee(of: Payment | Payout): StatementLine[] {
  const { endToEnd, feeCents = 0 } = of;
  if (feeCents === 0) return [];
  const line = { id: `T${endToEnd}`, amountCents: feeCents, endToEnd };
  return 'idEnvio' in of
    ? [{ ...line, key: of.payerKey, at: of.settledAt ?? of.createdAt, kind: 'TARIFA_ENVIADO' }]
    : [{ ...line, key: of.key, at: of.at, kind: 'TARIFA_RECEBIDO' }];
}

function lineOfDebit(payment: Payment, returned: PixReturn): StatementLine {
  const { endToEnd, key, txid } = payment;
  const { rtrId, amountCents, at } = returned;
  return { key, at, id: rtrId, kind: 'DEVOLUCAO_ENVIADA', amountCents, endToEnd, txid };
}

function lineOfReturn(payout: Payout, returned: PixReturn): StatementLine {
  const { endToEnd, payerKey: key, idEnvio } = payout;
  const { rtrId, amountCents, at } = returned;
  return { key, at, id: rtrId, kind: 'DEVOLUCAO_RECEBIDA', amountCents, endToEnd, idEnvio };
}

// ------------------------------------------------------------------------------------- keeping, restoring

/** Reads one entry of the journal into a bank; `ready` must follow the last one. */
export function restore(bank: Bank, entry: Entry): void {
  switch (entry[0]) {
    case 'charge':
      bank.charges.set(entry[1].txid, entry[1]);
      break;
    case 'payment':
      // Journals of earlier versions have no returns of received Pix.
      bank.payments.set(entry[1].endToEnd, { ...entry[1], returns: entry[1].returns ?? [] });
      break;
    case 'card':
      bank.cards.set(entry[1].ref, entry[1]);
      break;
    case 'card-cash':
      bank.cardCash.set(entry[1].id, entry[1]);
      break;
    case 'static-code':
      bank.staticCodes.set(entry[1].identifier, entry[1]);
      break;
    case 'dispute':
      bank.disputes.set(entry[1].id, entry[1]);
      break;
    case 'file':
      bank.files.set(`${entry[1].account} ${entry[1].correlationID}`, entry[1]);
      break;
    case 'payout':
      bank.payouts.set(entry[1].idEnvio, entry[1]);
      break;
    case 'arrival':
      bank.arrivals.set(entry[1].n, entry[1]);
      break;
    case 'arrived':
      bank.arrivals.delete(entry[1]);
      break;
    case 'client':
      bank.clients.set(entry[1].id, entry[1]);
      break;
    case 'key':
      bank.keys.set(entry[1].key, entry[1].account);
      break;
    case 'webhook':
      bank.webhooks.set(entry[1].key, entry[1]);
      break;
    case 'webhook-removed':
      bank.webhooks.delete(entry[1]);
      break;
    case 'question':
      bank.questions.set(entry[1].account, entry[1]);
      break;
    case 'config':
      bank.configs.set(entry[1].account, entry[1]);
      break;
    case 'project':
      bank.projects.set(entry[1].id, entry[1]);
      break;
    case 'blocked':
      bank.blocked.set(entry[1].account, entry[1]);
      break;
    case 'behaviour':
      bank.behaviour = { ...defaultBehaviour, ...entry[1] };
      break;
    case 'notification':
      bank.outbox.waiting.set(entry[1].n, entry[1]);
      break;
    case 'notified':
      for (const n of entry[1]) bank.outbox.waiting.delete(n);
      break;
    case 'counts':
      bank.counts = entry[1];
      break;
    case 'token-secret':
      bank.tokenSecret = entry[1];
      break;
    case 'signing-key':
      bank.signingKey = entry[1];
      break;
  }
}

/** Rebuilds from the rows everything that is derived from them: lists, statement, balance, what is due. */
export function ready(bank: Bank): void {
  const byNumber = (a: { n: number }, b: { n: number }) => a.n - b.n;
  const lines: { line: number; shown: StatementLine }[] = [];
  // Journals of earlier versions do not say which account a client works for; where it registered an address, it showed a key.
  for (const { key, clientId } of bank.webhooks.values())
    if (bank.clients.get(clientId)?.account === undefined) showKey(bank, clientId, key);
  bank.chargeList = [...bank.charges.values()].sort(byNumber);
  for (const charge of bank.chargeList) listOf(bank, charge).push(charge);
  const payments = [...bank.payments.values()].sort(byNumber);
  bank.payments.clear();
  for (const payment of payments) {
    addPayment(bank, payment);
    lines.push({ line: payment.line, shown: lineOfPayment(payment) });
    for (const shown of linesOfFee(payment)) lines.push({ line: payment.line + 0.5, shown });
    for (const returned of payment.returns) {
      if (returned.settleAt !== undefined) addDue(bank.due, returned.settleAt, { payment, refund: returned });
      if (returned.line === undefined) continue;
      move(bank, payment.key, -returned.amountCents);
      lines.push({ line: returned.line, shown: lineOfDebit(payment, returned) });
    }
  }
  bank.payoutList = [...bank.payouts.values()].filter((payout) => payout.status !== 'seen').sort(byNumber);
  for (const payout of bank.payoutList) {
    bank.payoutsByEndToEnd.set(payout.endToEnd, payout);
    accountOf(bank, payout.payerKey).payouts.push(payout);
    if (payout.settleAt !== undefined) addDue(bank.due, payout.settleAt, { payout });
    if (payout.settledAt !== undefined && payout.line !== undefined) {
      move(bank, payout.payerKey, -payout.amountCents - (payout.feeCents ?? 0));
      lines.push({ line: payout.line, shown: lineOfPayout(payout, payout.settledAt) });
      for (const shown of linesOfFee(payout)) lines.push({ line: payout.line + 0.5, shown });
    }
    for (const returned of payout.returns) {
      if (returned.line === undefined) continue;
      move(bank, payout.payerKey, returned.amountCents);
      lines.push({ line: returned.line, shown: lineOfReturn(payout, returned) });
    }
  }
  // Many share a millisecond: their time alone would not give the order back, and a page would show one twice.
  bank.statement = lines.sort((a, b) => a.line - b.line).map((one) => one.shown);
  bank.lastMoment = Math.max(
    bank.chargeList.at(-1)?.createdAt ?? 0,
    bank.payoutList.at(-1)?.createdAt ?? 0,
    bank.statement.at(-1)?.at ?? 0,
  );
  for (const arrival of bank.arrivals.values()) addArrival(bank, arrival);
  for (const notification of bank.outbox.waiting.values()) restoreNotification(bank.outbox, notification);
}

/** Every row once: what the journal is compacted to. */
export function* snapshot(bank: Bank): Generator<Entry> {
  yield ['token-secret', bank.tokenSecret];
  if (bank.signingKey !== '') yield ['signing-key', bank.signingKey];
  yield ['behaviour', bank.behaviour];
  yield ['counts', bank.counts];
  for (const blocked of bank.blocked.values()) yield ['blocked', blocked];
  for (const [key, account] of bank.keys) yield ['key', { key, account }];
  for (const client of bank.clients.values()) yield ['client', client];
  for (const webhook of bank.webhooks.values()) yield ['webhook', webhook];
  for (const question of bank.questions.values()) yield ['question', question];
  for (const config of bank.configs.values()) yield ['config', config];
  for (const project of bank.projects.values()) yield ['project', project];
  for (const charge of bank.chargeList) yield ['charge', charge];
  for (const payment of bank.paymentList) yield ['payment', payment];
  for (const code of bank.staticCodes.values()) yield ['static-code', code];
  for (const card of bank.cards.values()) yield ['card', card];
  for (const cash of bank.cardCash.values()) yield ['card-cash', cash];
  for (const dispute of bank.disputes.values()) yield ['dispute', dispute];
  for (const file of bank.files.values()) yield ['file', file];
  for (const payout of bank.payouts.values()) yield ['payout', payout];
  for (const arrival of bank.arrivals.values()) yield ['arrival', arrival];
  for (const notification of bank.outbox.waiting.values()) yield ['notification', notification];
}

function addPayment(bank: Bank, payment: Payment): void {
  bank.payments.set(payment.endToEnd, payment);
  bank.paymentList.push(payment);
  accountOf(bank, payment.key).payments.push(payment);
  move(bank, payment.key, payment.amountCents - (payment.feeCents ?? 0));
}

/** The connection of a request is dropped; it arrives after `delayMs`. */
function delay(bank: Bank, world: World, what: Delayed): Entry {
  const arrival: Arrival = { ...what, n: bank.nextArrival++, at: world.now() + bank.behaviour.delayMs };
  addArrival(bank, arrival);
  return ['arrival', arrival];
}

function addArrival(bank: Bank, arrival: Arrival): void {
  bank.arrivals.set(arrival.n, arrival);
  bank.nextArrival = Math.max(bank.nextArrival, arrival.n + 1);
  addDue(bank.due, arrival.at, { arrival });
}
