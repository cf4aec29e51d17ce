import { createPublicKey } from 'node:crypto';
import { chargeStatusWord, copyPasteOf } from './api-pix.ts';
import {
  type Bank,
  type Blocked,
  type Charge,
  type Dispute,
  deadlineOf,
  disputeActions,
  type Entry,
  expireCharge,
  moveDispute,
  openDispute,
  type Payment,
  type Payout,
  type PixReturn,
  payCharge,
  payStatic,
  removeCharge,
  removePayout,
  report,
  resend,
  returnedCents,
  returnPayment,
  returnPayout,
  setBehaviour,
  setBlocked,
  setProject,
  setQuestion,
  settlePayout,
  settleRefund,
  sweep,
} from './bank.ts';
import { defaultBehaviour, mergeBehaviour, paymentSystemCodes } from './behaviour.ts';
import {
  approvalOf,
  type Card,
  type CardAction,
  type CardFields,
  cardOf,
  failPayout,
  moveCard,
  payOut,
  refundedOf,
  takenFor,
} from './cards.ts';
import { isDay } from './cobv.ts';
import type { Desk, Request } from './desk.ts';
import { isRecord } from './money.ts';
import { json, type Reply } from './reply.ts';

/** The calls by which a person or a test plays payer, time and provider. Errors are `{error}`. */

const mostCents = 999_999_999_999;

export function control(desk: Desk, request: Request): Reply {
  const [, area, id, action, ...more] = request.path;
  if (more.length > 0) return unknownCall();
  if (isForeignOrigin(request)) return failure(403, 'only the page of the simulator itself may call this');
  const call = `${request.method} ${area}`;
  if (call === 'GET state' && id === undefined) return state(desk, request.query);
  if (area === 'behaviour' && id === undefined) return behaviour(desk, request);
  if (area === 'blocked' && id === undefined) return blocked(desk, request);
  if (call === 'POST sweep' && id === undefined) return withdrawAll(desk, request.body);
  if (call === 'POST keys' && id !== undefined) return newsOfKey(desk, id);
  if (call === 'PUT questions' && id !== undefined) return question(desk, id, request.body);
  if (call === 'PUT projects' && id !== undefined) return project(desk, id, request.body);
  if (call === 'POST static' && id === undefined) return payCode(desk, request.body);
  if (call === 'POST charges' && id !== undefined)
    return charge(desk, nameIn(desk.bank.charges, id), action, request.body);
  if (call === 'POST disputes' && id !== undefined) return dispute(desk, id, action, request.body);
  if (call === 'POST payouts' && id !== undefined)
    return payout(desk, nameIn(desk.bank.payouts, id), action, request.body);
  if (call === 'POST card-cash' && id !== undefined) return cash(desk, id, action, request.body);
  if (call === 'POST cards' && id !== undefined)
    return card(desk, cardOf(desk.bank, plainId(id)), action, request.body);
  if (call === 'POST refunds' && id !== undefined) return refund(desk, id, action, request.body);
  return unknownCall();
}

/** An id may come as the UUID that the service shows: the provider knows it without hyphens. */
export function plainId(id: string): string {
  return id.replaceAll('-', '');
}

/** A client of its own may have given a UUID as it stands, as Woovi advises. */
const nameIn = (known: ReadonlyMap<string, unknown>, id: string): string =>
  known.has(id) ? id : plainId(id);

/** A page from elsewhere that a browser has open could otherwise pay charges here. */
function isForeignOrigin(request: Request): boolean {
  const { origin, host } = request.headers;
  return origin !== undefined && URL.parse(origin)?.host !== host;
}

function failure(status: number, error: string): Reply {
  return json(status, { error });
}

function unknownCall(): Reply {
  return failure(404, 'no such control call');
}

/** The JSON object of a body; none is `{}`. Properties that the call does not know are refused. */
function readBody(body: string, known: string[]): { given: Record<string, unknown> } | { refusal: Reply } {
  let given: unknown = {};
  if (body.trim() !== '') {
    try {
      given = JSON.parse(body);
    } catch {
      return { refusal: failure(400, 'the body is not JSON') };
    }
  }
  if (!isRecord(given)) return { refusal: failure(400, 'the body must be a JSON object') };
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) return { refusal: failure(400, `unknown property ${unknown}`) };
  return { given };
}

function readCents(given: Record<string, unknown>): { cents: number | undefined } | { refusal: Reply } {
  const cents = given.amountCents;
  if (cents === undefined) return { cents };
  if (typeof cents !== 'number' || !Number.isInteger(cents) || cents < 1 || cents > mostCents) {
    return { refusal: failure(400, `amountCents must be an integer from 1 to ${mostCents}`) };
  }
  return { cents };
}

// --------------------------------------------------------------------------------------------- charges

function charge(desk: Desk, txid: string, action: string | undefined, body: string): Reply {
  if (action === 'return') return chargeReturn(desk, txid, body);
  if (action === 'dispute') return chargeDispute(desk, txid, body);
  if (action === 'resend') return chargeResend(desk, txid, body);
  if (action !== 'pay' && action !== 'expire' && action !== 'remove') return unknownCall();
  const read = readBody(body, action === 'pay' ? ['amountCents', 'on'] : []);
  if ('refusal' in read) return read.refusal;
  if (action === 'pay') {
    const amount = readCents(read.given);
    if ('refusal' in amount) return amount.refusal;
    const { on } = read.given;
    if (on !== undefined && (typeof on !== 'string' || !isDay(on)))
      return failure(400, 'on must be a day as 2026-12-01');
    const { answer, writes } = payCharge(desk.bank, desk.world, txid, amount.cents, on);
    desk.commit(writes);
    if (answer === 'not-found') return failure(404, `no charge ${txid}`);
    if (answer === 'removed') return failure(409, 'the charge was removed: it cannot be paid');
    if (answer === 'over') return failure(409, 'its last day is over: it cannot be paid');
    return json(200, answer);
  }
  const { answer, writes } =
    action === 'expire' ? expireCharge(desk.bank, desk.world, txid) : removeCharge(desk.bank, txid);
  desk.commit(writes);
  if (answer === 'not-found') return failure(404, `no charge ${txid}`);
  if (answer === 'closed') return failure(409, `the charge is not open: it is paid or removed`);
  return json(200, { ok: true });
}

/** Whom Asaas asks before a transfer of a client leaves, as its panel has it ("Mecanismos de segurança"). */
function question(desk: Desk, account: string, body: string): Reply {
  const read = readBody(body, ['url', 'token']);
  if ('refusal' in read) return read.refusal;
  const { url, token } = read.given;
  if (typeof url !== 'string' || !URL.canParse(url)) return failure(400, 'url must be an address');
  if (typeof token !== 'string') return failure(400, 'token must be a text');
  desk.commit(setQuestion(desk.bank, account, { url, token }));
  return json(200, { ok: true });
}

/** A project with a public key and an account, as a person makes it in Stark's web banking. */
function project(desk: Desk, id: string, body: string): Reply {
  if (desk.bank.terms !== 'stark') return failure(409, 'this provider has no projects');
  const read = readBody(body, ['publicKey', 'workspaceId']);
  if ('refusal' in read) return read.refusal;
  const { publicKey, workspaceId } = read.given;
  if (!/^\d{1,20}$/.test(id)) return failure(400, 'the id of a project has digits alone');
  if (typeof publicKey !== 'string' || !isCurveKey(publicKey))
    return failure(400, 'publicKey must be the PEM of a key of the curve secp256k1');
  if (typeof workspaceId !== 'string' || !/^\d{1,20}$/.test(workspaceId))
    return failure(400, 'workspaceId must have digits alone');
  desk.commit(setProject(desk.bank, { id, publicKey, account: workspaceId }));
  return json(200, { ok: true });
}

function isCurveKey(pem: string): boolean {
  try {
    return createPublicKey(pem).asymmetricKeyDetails?.namedCurve === 'secp256k1';
  } catch {
    return false;
  }
}

const cardActions: ReadonlySet<string> = new Set<CardAction>([
  'approve',
  'review',
  'refuse',
  'release',
  'chargeback',
  'win',
  'lose',
  'expire',
  'refund',
  'anticipate',
]);

/** A payer, his bank or time moves a payment by card. */
function card(desk: Desk, one: Card | undefined, action: string | undefined, body: string): Reply {
  if (action === undefined || !cardActions.has(action)) return unknownCall();
  const read = readBody(body, ['brand', 'last4', 'amountCents', 'currency', 'installments', 'reason']);
  if ('refusal' in read) return read.refusal;
  const amount = readCents(read.given);
  if ('refusal' in amount) return amount.refusal;
  if (one === undefined) return failure(404, 'no page of this payment');
  const { answer, writes } = moveCard(
    desk.bank,
    desk.world,
    one,
    action as CardAction,
    read.given as CardFields,
  );
  desk.commit(writes);
  return answer === 'wrong' ? failure(409, `it cannot ${action} as it stands`) : json(200, cardState(one));
}

/** `/payout`, `/fee`: out of what the acquirer has released for a client; `/fail`: the bank refuses a payout. */
function cash(desk: Desk, id: string, action: string | undefined, body: string): Reply {
  const read = readBody(body, ['amountCents']);
  if ('refusal' in read) return read.refusal;
  const amount = readCents(read.given);
  if ('refusal' in amount) return amount.refusal;
  if (action !== 'payout' && action !== 'fee' && action !== 'fail') return unknownCall();
  const { answer, writes } =
    action === 'fail'
      ? failPayout(desk.bank, desk.world, id)
      : payOut(desk.bank, desk.world, {
          ...{ client: id, kind: action },
          ...(amount.cents !== undefined && { amountCents: amount.cents }),
        });
  desk.commit(writes);
  return answer === 'wrong' ? failure(409, `it cannot ${action} as it stands`) : json(200, answer);
}

function cardState(one: Card) {
  const approval = approvalOf(one);
  return {
    id: one.id,
    ref: one.ref,
    amountCents: one.amountCents,
    status: approval ? 'paid' : one.status,
    timesReceived: one.timesReceived,
    ...(one.payer && { payer: one.payer }),
    refusals: one.attempts.filter(({ status }) => status === 'failed').length,
    ...(one.intent && { intent: one.intent }),
    ...(approval && {
      paidCents: approval.amountCents,
      feeCents: approval.feeCents,
      released: approval.released,
      refundedCents: refundedOf(approval.refunds),
      ...(approval.dispute && { dispute: approval.dispute.status, takenCents: takenFor(approval.dispute) }),
    }),
  };
}

/** A payer pays a static code, whatever its paper says. One without an identifier (`***`) makes a Pix that names none. */
function payCode(desk: Desk, body: string): Reply {
  const read = readBody(body, ['identifier', 'amountCents', 'key']);
  if ('refusal' in read) return read.refusal;
  const amount = readCents(read.given);
  if ('refusal' in amount) return amount.refusal;
  const { identifier = '', key } = read.given;
  if (typeof identifier !== 'string' || !/^[a-zA-Z0-9]{0,25}$/.test(identifier))
    return failure(400, 'identifier must be a text of at most 25 letters or digits');
  if (amount.cents === undefined) return failure(400, 'amountCents is missing');
  if (key !== undefined && typeof key !== 'string') return failure(400, 'key must be a text');
  const { answer, writes } = payStatic(desk.bank, desk.world, identifier, amount.cents, key);
  desk.commit(writes);
  return answer === 'no-account' ? failure(404, 'there is no account') : json(200, answer);
}

/** The Pix that came for a charge, or under the identifier of a static code, oldest first. */
const receivedUnder = ({ bank }: Desk, txid: string): string[] =>
  bank.charges.get(txid)?.payments ??
  bank.paymentList.filter((payment) => payment.txid === txid).map(({ endToEnd }) => endToEnd);

/** Deliveries that were lost, as a person has them sent again in a provider's panel. */
function chargeResend(desk: Desk, txid: string, body: string): Reply {
  const read = readBody(body, []);
  if ('refusal' in read) return read.refusal;
  const received = receivedUnder(desk, txid);
  if (received.length === 0 && !desk.bank.charges.has(txid)) return failure(404, `no charge ${txid}`);
  const payments = received.flatMap((endToEnd) => desk.bank.payments.get(endToEnd) ?? []);
  desk.commit(payments.flatMap((payment) => resend(desk.bank, desk.world, payment)));
  return json(200, { ok: true });
}

/** A received Pix goes back to its payer: the last one that the charge received, unless another is named. */
function chargeReturn(desk: Desk, txid: string, body: string): Reply {
  const read = readBody(body, ['endToEnd', 'amountCents', 'id']);
  if ('refusal' in read) return read.refusal;
  const amount = readCents(read.given);
  if ('refusal' in amount) return amount.refusal;
  const name = readReturnId(read.given);
  if ('refusal' in name) return name.refusal;
  const received = receivedUnder(desk, txid);
  const endToEnd = read.given.endToEnd ?? received.at(-1);
  if (typeof endToEnd !== 'string' || !received.includes(endToEnd))
    return failure(404, `no such Pix for charge ${txid}`);
  const { answer, writes } = returnPayment(desk.bank, desk.world, endToEnd, amount.cents, name.id);
  desk.commit(writes);
  return returnReply(answer);
}

/** The payer disputes a Pix (MED): the last one that the charge received, unless another is named. */
function chargeDispute(desk: Desk, txid: string, body: string): Reply {
  const read = readBody(body, ['endToEnd', 'amountCents']);
  if ('refusal' in read) return read.refusal;
  const amount = readCents(read.given);
  if ('refusal' in amount) return amount.refusal;
  const received = receivedUnder(desk, txid);
  const endToEnd = read.given.endToEnd ?? received.at(-1);
  if (typeof endToEnd !== 'string' || !received.includes(endToEnd))
    return failure(404, `no such Pix for charge ${txid}`);
  const { answer, writes } = openDispute(desk.bank, desk.world, endToEnd, amount.cents);
  desk.commit(writes);
  if (answer === 'not-found') return failure(404, 'no such Pix');
  if (answer === 'too-much') return failure(409, 'a dispute cannot exceed the amount of its Pix');
  return json(200, answer);
}

/** The provider decides: `accept` alone takes no money, as the real one takes it later, by a return. */
function dispute(desk: Desk, id: string, action: string | undefined, body: string): Reply {
  if (action === undefined || !Object.hasOwn(disputeActions, action)) return unknownCall();
  const read = readBody(body, []);
  if ('refusal' in read) return read.refusal;
  const { answer, writes } = moveDispute(desk.bank, desk.world, id, action as keyof typeof disputeActions);
  desk.commit(writes);
  return answer === 'not-found' ? failure(404, `no dispute ${id}`) : json(200, answer);
}

/** A pending refund is carried out, or is not. */
function refund(desk: Desk, id: string, action: string | undefined, body: string): Reply {
  if (action !== 'complete' && action !== 'refuse') return unknownCall();
  const read = readBody(body, []);
  if ('refusal' in read) return read.refusal;
  for (const payment of desk.bank.paymentList) {
    const found = payment.returns.find((one) => one.id === id || one.id === plainId(id));
    if (found === undefined) continue;
    if (found.state !== 'pending') return failure(409, 'the refund is not pending: its fate is decided');
    desk.commit(
      settleRefund(desk.bank, desk.world, payment, found, action === 'complete' ? 'completed' : 'failed'),
    );
    return json(200, { ok: true });
  }
  return failure(404, `no refund ${id}`);
}

/** `id` of a return: chosen by the party that returns the Pix. */
function readReturnId({ id }: Record<string, unknown>): { id: string | undefined } | { refusal: Reply } {
  if (id === undefined || (typeof id === 'string' && /^[a-zA-Z0-9]{1,35}$/.test(id))) return { id };
  return { refusal: failure(400, 'id must be a text of 1 to 35 letters or digits') };
}

function returnReply(answer: { returned: PixReturn } | 'not-found' | 'too-much' | 'taken'): Reply {
  if (answer === 'not-found') return failure(404, 'no such Pix');
  if (answer === 'too-much') return failure(409, 'all returns together cannot exceed the amount');
  if (answer === 'taken') return failure(409, 'the Pix has a return with this id');
  const { id, rtrId, amountCents } = answer.returned;
  return json(200, { id, rtrId, amountCents });
}

// --------------------------------------------------------------------------------------------- payouts

const bodyOfPayoutCall: Record<string, string[]> = {
  complete: [],
  refuse: ['reason', 'code'],
  return: ['amountCents', 'id'],
  resend: [],
  remove: [],
};

function payout(desk: Desk, idEnvio: string, action: string | undefined, body: string): Reply {
  const known = bodyOfPayoutCall[action ?? ''];
  if (known === undefined) return unknownCall();
  const read = readBody(body, known);
  if ('refusal' in read) return read.refusal;

  if (action === 'resend') {
    const one = desk.bank.payouts.get(idEnvio);
    if (one === undefined) return failure(404, `no payout ${idEnvio}`);
    desk.commit(resend(desk.bank, desk.world, one));
    return json(200, { ok: true });
  }
  if (action === 'remove') {
    const { answer, writes } = removePayout(desk.bank, desk.world, idEnvio);
    desk.commit(writes);
    if (answer === 'not-found') return failure(404, `no payout ${idEnvio}`);
    if (answer === 'not-waiting')
      return failure(409, 'only a payout that waits for an approval can be removed');
    return json(200, { ok: true });
  }
  if (action === 'return') {
    const amount = readCents(read.given);
    if ('refusal' in amount) return amount.refusal;
    const name = readReturnId(read.given);
    if ('refusal' in name) return name.refusal;
    const { answer, writes } = returnPayout(desk.bank, desk.world, idEnvio, amount.cents, name.id);
    desk.commit(writes);
    if (answer === 'not-found') return failure(404, `no payout ${idEnvio}`);
    if (answer === 'not-completed') return failure(409, 'only a completed payout can be returned');
    return returnReply(answer);
  }

  const { reason } = read.given;
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > 140)) {
    return failure(400, 'reason must be a text of at most 140 characters');
  }
  const { code } = read.given;
  if (code !== undefined && (typeof code !== 'string' || !Object.hasOwn(paymentSystemCodes, code))) {
    return failure(400, `code must be one of: ${Object.keys(paymentSystemCodes).join(', ')}`);
  }
  const named = code === undefined ? {} : { code, reason: paymentSystemCodes[code] as string };
  const as = action === 'complete' ? 'completed' : { ...named, ...(reason === undefined ? {} : { reason }) };
  const { answer, writes } = settlePayout(desk.bank, desk.world, idEnvio, as);
  desk.commit(writes);
  if (answer === 'not-found') return failure(404, `no payout ${idEnvio}`);
  if (answer === 'not-pending') return failure(409, 'the payout is not pending: its fate is decided');
  return json(200, { ok: true });
}

// -------------------------------------------------------------------------------------------- behaviour

function behaviour(desk: Desk, request: Request): Reply {
  let writes: Entry[] = [];
  if (request.method === 'DELETE') {
    writes = setBehaviour(desk.bank, { ...defaultBehaviour });
  } else if (request.method === 'PUT') {
    const read = readBody(request.body, Object.keys(defaultBehaviour));
    if ('refusal' in read) return read.refusal;
    const merged = mergeBehaviour(desk.bank.behaviour, read.given);
    if ('error' in merged) return failure(400, merged.error);
    writes = setBehaviour(desk.bank, merged.behaviour);
  } else if (request.method !== 'GET') {
    return unknownCall();
  }
  desk.commit(writes);
  return json(200, desk.bank.behaviour);
}

// ---------------------------------------------------------------------------------------------- blocked

/** Blocked money of each account: by a court, for a contested Pix (MED), for caution. */
function blocked(desk: Desk, request: Request): Reply {
  if (request.method === 'GET') return json(200, { blocked: [...desk.bank.blocked.values()] });
  if (request.method !== 'PUT') return unknownCall();
  const figures = ['judicialCents', 'medCents', 'cautionCents'] as const;
  const read = readBody(request.body, ['account', ...figures]);
  if ('refusal' in read) return read.refusal;
  const { account = [...desk.bank.accounts.keys()][0] } = read.given;
  if (typeof account !== 'string') return failure(404, 'there is no account');
  const [judicialCents = 0, medCents = 0, cautionCents = 0] = figures.map((name) => read.given[name] ?? 0);
  for (const cents of [judicialCents, medCents, cautionCents])
    if (!Number.isInteger(cents) || (cents as number) < 0 || (cents as number) > mostCents)
      return failure(400, `amounts must be integers from 0 to ${mostCents}`);
  const set = { account, judicialCents, medCents, cautionCents } as Blocked;
  desk.commit(setBlocked(desk.bank, set));
  return json(200, set);
}

/** Asaas reports to every registered address what happens to an API key: `ACCESS_TOKEN_EXPIRING_SOON` and others. */
function newsOfKey(desk: Desk, event: string): Reply {
  if (!/^ACCESS_TOKEN_[A-Z_]{1,20}$/.test(event)) return failure(400, 'there is no such event of a key');
  const { bank, world, commit } = desk;
  for (const key of bank.webhooks.keys())
    commit(report(bank, world.now(), { key, kind: 'key', id: event, returns: 0 }));
  return json(200, { event });
}

/** The evening's withdrawal of a provider that empties the account by itself. */
function withdrawAll(desk: Desk, body: string): Reply {
  if (desk.bank.terms !== 'woovi') return failure(409, 'this provider empties no account by itself');
  const read = readBody(body, ['account']);
  if ('refusal' in read) return read.refusal;
  const { account = [...desk.bank.accounts.keys()][0] } = read.given;
  if (typeof account !== 'string' || !desk.bank.accounts.has(account))
    return failure(404, 'there is no account');
  const { answer, writes } = sweep(desk.bank, desk.world, account);
  desk.commit(writes);
  return answer === null ? failure(409, 'nothing of the account is free') : json(200, answer);
}

// ------------------------------------------------------------------------------------------------ state

function state(desk: Desk, query: URLSearchParams): Reply {
  const txid = query.get('txid');
  const idEnvio = query.get('idEnvio');
  const { bank } = desk;
  if (txid === null && idEnvio === null) {
    const codes = bank.paymentList.filter((payment) => !bank.charges.has(payment.txid));
    const parts = stateParts(desk, {
      charges: bank.charges.values(),
      payouts: bank.payouts.values(),
      codes,
    });
    // An answer in one piece is the state of one moment. A million payouts are 200 MB, too much to wait for or to hold in
    // memory twice: so a long state is streamed while other requests are served.
    const rows = bank.charges.size + bank.payouts.size + codes.length;
    const body = rows <= rowsInOnePiece ? [...parts].join('') : parts;
    return { status: 200, type: 'application/json', body };
  }
  const oneCharge = txid === null ? undefined : bank.charges.get(nameIn(bank.charges, txid));
  const onePayout = idEnvio === null ? undefined : bank.payouts.get(nameIn(bank.payouts, idEnvio));
  const parts = stateParts(desk, {
    charges: oneCharge ? [oneCharge] : [],
    payouts: onePayout ? [onePayout] : [],
    codes: txid === null || oneCharge ? [] : bank.paymentList.filter((payment) => payment.txid === txid),
  });
  return { status: 200, type: 'application/json', body: [...parts].join('') };
}

const rowsInOnePiece = 50_000;

interface Shown {
  charges: Iterable<Charge>;
  payouts: Iterable<Payout>;
  /** Pix that came for no charge. */
  codes: Iterable<Payment>;
}

function* stateParts(desk: Desk, { charges, payouts, codes }: Shown): Generator<string> {
  const { bank } = desk;
  const now = desk.world.now();
  const disputed = disputesByPix(bank);
  yield '{"charges":[';
  yield* joined(charges, (one) => JSON.stringify(chargeState(desk, one, now, disputed)));
  yield '],"payouts":[';
  yield* joined(payouts, (one) => JSON.stringify(payoutState(one)));
  yield '],"codes":[';
  yield* joined(codes, (one) => JSON.stringify(codeState(one)));
  yield '],"disputes":[';
  yield* joined(bank.disputes.values(), (one) => JSON.stringify(one));
  yield '],"cards":[';
  yield* joined(bank.cards.values(), (one) => JSON.stringify(cardState(one)));
  yield '],"cardCash":[';
  yield* joined(bank.cardCash.values(), (one) => JSON.stringify(one));
  const { queries, webhooksSent } = bank.counts;
  yield `],"balanceCents":${bank.balanceCents},"queries":${queries},"webhooksSent":${webhooksSent}}`;
}

function* joined<T>(items: Iterable<T>, text: (item: T) => string): Generator<string> {
  let part: string[] = [];
  let comma = '';
  for (const item of items) {
    part.push(text(item));
    if (part.length === 1000) {
      yield comma + part.join(',');
      comma = ',';
      part = [];
    }
  }
  if (part.length > 0) yield comma + part.join(',');
}

function chargeState(desk: Desk, charge: Charge, now: number, disputed: DisputesOfPix) {
  const payments = paymentsOf(desk, charge);
  const [first] = payments;
  return {
    txid: charge.txid,
    amountCents: charge.amountCents,
    status: chargeStatusWord(charge, now),
    createdAt: new Date(charge.createdAt).toISOString(),
    ...(first === undefined ? {} : { paidAt: new Date(first.at).toISOString(), endToEnd: first.endToEnd }),
    ...feesState(payments),
    ...(paidAsAsked(charge, payments) ? {} : { payments: payments.map(paymentState) }),
    ...refundsState(payments),
    ...disputesState(disputed, charge),
    ...(payments.every((one) => one.returns.length === 0)
      ? {}
      : {
          returns: payments.flatMap((one) =>
            returnsState(one).map((back) => ({ ...back, endToEnd: one.endToEnd })),
          ),
        }),
  };
}

const feesState = (payments: readonly Payment[]) => {
  const feeCents = payments.reduce((sum, one) => sum + (one.feeCents ?? 0), 0);
  return feeCents === 0 ? {} : { feeCents };
};

/** Unpaid, or paid once with its own amount: the charge says everything of its payments. */
const paidAsAsked = ({ amountCents }: Charge, payments: readonly Payment[]): boolean =>
  payments.length < 2 && payments.every((one) => one.amountCents === amountCents);

type DisputesOfPix = ReadonlyMap<string, readonly Dispute[]>;

const disputesByPix = ({ disputes }: Bank): DisputesOfPix =>
  Map.groupBy(disputes.values(), ({ endToEnd }) => endToEnd);

const disputesState = (disputed: DisputesOfPix, charge: Charge) => {
  const disputes = charge.payments.flatMap((endToEnd) => disputed.get(endToEnd) ?? []);
  return disputes.length === 0 ? {} : { disputes };
};

/** Returns that the receiver requested. One that was lost on the way has no status. */
function refundsState(payments: readonly Payment[]) {
  const refunds = payments.flatMap(({ endToEnd, asked = {}, returns }) =>
    Object.entries(asked).map(([id, timesReceived]) => {
      const made = returns.find((one) => one.id === id);
      return {
        id,
        endToEnd,
        timesReceived,
        timesAccepted: made ? 1 : 0,
        ...(made && { amountCents: made.amountCents, status: made.state ?? 'completed' }),
      };
    }),
  );
  return refunds.length === 0 ? {} : { refunds };
}

/** The movements so far. */
const returnsState = ({ returns }: { returns: readonly PixReturn[] }) =>
  returns
    .filter(({ state }) => state === undefined)
    .map(({ id, rtrId, amountCents }) => ({ id, rtrId, amountCents }));

function paymentsOf(desk: Desk, charge: Charge): Payment[] {
  return charge.payments.flatMap((endToEnd) => desk.bank.payments.get(endToEnd) ?? []);
}

/** A Pix under the identifier of a static code, or under none. */
const codeState = (payment: Payment) => ({
  ...{ identifier: payment.txid, key: payment.key, endToEnd: payment.endToEnd },
  ...{ amountCents: payment.amountCents, paidAt: new Date(payment.at).toISOString() },
  ...feesState([payment]),
  ...refundsState([payment]),
  ...(payment.returns.length > 0 && { returns: returnsState(payment) }),
});

function paymentState(payment: Payment) {
  const { endToEnd, amountCents, at } = payment;
  const back = returnedCents(payment);
  return {
    endToEnd,
    amountCents,
    paidAt: new Date(at).toISOString(),
    ...(back > 0 && { returnedCents: back }),
  };
}

/** A payout that was only seen (lost, failed, still on its way) was not decided: it has no status. */
function payoutState(payout: Payout) {
  const status = payout.unlisted ? 'refused' : payout.status;
  return {
    idEnvio: payout.idEnvio,
    amountCents: payout.amountCents,
    pixKey: payout.pixKey,
    ...(status === 'seen' ? {} : { status }),
    ...(payout.unlisted && { unlisted: true }),
    timesReceived: payout.timesReceived,
    timesAccepted: payout.accepted ? 1 : 0,
    ...(payout.feeCents === undefined ? {} : { feeCents: payout.feeCents }),
    ...(payout.endToEnd === '' ? {} : { endToEnd: payout.endToEnd }),
    ...(payout.returns.length === 0
      ? {}
      : { returnedCents: returnedCents(payout), returns: returnsState(payout) }),
    ...(payout.refusal === undefined ? {} : { reason: payout.refusal.reason }),
  };
}

// ----------------------------------------------------------------------------------------- for the page

const shownCharges = 20;
const shownPayouts = 30;
const searchedCharges = 5000;

/** The content of the page: the newest open charges and payouts, and how the provider behaves. */
export function pageData(desk: Desk): Reply {
  const { bank } = desk;
  const now = desk.world.now();
  const charges: unknown[] = [];
  const oldest = Math.max(0, bank.chargeList.length - searchedCharges);
  for (let at = bank.chargeList.length - 1; at >= oldest && charges.length < shownCharges; at--) {
    const one = bank.chargeList[at] as Charge;
    if (chargeStatusWord(one, now) === 'open') charges.push(chargeCard(desk, one, now));
  }
  const payouts = bank.payoutList
    .slice(-shownPayouts)
    .reverse()
    .map((one) => ({ ...payoutState(one), createdAt: new Date(one.createdAt).toISOString() }));
  return json(200, {
    charges,
    payouts,
    chargeCount: bank.charges.size,
    payoutCount: bank.payoutList.length,
    balanceCents: bank.balanceCents,
    behaviour: bank.behaviour,
  });
}

/** A charge as a payer's bank would show it. */
export function pageCharge(desk: Desk, txid: string): Reply {
  const one = desk.bank.charges.get(nameIn(desk.bank.charges, txid));
  return one === undefined
    ? failure(404, 'no such charge')
    : json(200, chargeCard(desk, one, desk.world.now()));
}

function chargeCard(desk: Desk, charge: Charge, now: number) {
  return {
    ...chargeState(desk, charge, now, disputesByPix(desk.bank)),
    key: charge.key,
    expiresAt: new Date(deadlineOf(charge)).toISOString(),
    payments: paymentsOf(desk, charge).map(paymentState),
    message: charge.details.solicitacaoPagador ?? '',
    details: charge.details.infoAdicionais ?? [],
    ...(charge.withoutCode ? {} : { copyPaste: copyPasteOf(charge) }),
  };
}
