import { createAsking, faultsOfRequest, newRequest, type Request } from './asking.ts';
import { type ChargeTruth, type CodePix, counted, type Merchant, type Truth } from './giving-back.ts';
import { type Answer, inTurns, sleep } from './processes.ts';
import { type EventsOf, pagesOf, type Surroundings, timesOf } from './street.ts';

/**
 * Static codes on bad days, over the Pix keys of several connections: merchants make them and retire them; payers pay them, also with another amount than the
 * paper says, in small letters as some banks write, into another key, under an identifier that no merchant has or under none. At the end each Pix that the provider has
 * is one payment of one code, or money of no merchant.
 */
interface Code {
  merchant: Merchant;
  /** Of the connection that it pays into. */
  key: string;
  body: { requestKey: string; name: string; amountCents: number | null };
  request: Request;
  /** In the code, once an answer named it. */
  identifier: string;
  shown: { paidCount: number; paidCents: number } | null;
  /** As the merchant lists them. */
  payments: ShownPayment[];
}

interface ShownPayment {
  id: string;
  endToEnd: string;
  amountCents: number;
  status: string;
  notice?: string;
}

/** In the form of ours, and made for no account. */
const nobodys = 'SAAAAAAAAAAAAAAAAAAAAAAAA';
const mostCodes = 4;

interface Own {
  /** The Pix key of the connection that a merchant is on. */
  keyOf(merchant: Merchant): string;
  keys: readonly string[];
  /** A merchant gives a part back. */
  refund(merchant: Merchant, paymentId: string, amountCents: number): Promise<void>;
}

export function createCodePayers(around: Surroundings, { keyOf, keys, refund }: Own) {
  const { merchants, call, control, chance, isRunning } = around;
  const { insist, repeat } = createAsking(around);
  const codes: Code[] = [];
  const underWay: Promise<unknown>[] = [];
  const made = (): Code[] => codes.filter(({ request }) => request.id !== null);
  const cents = (): number => 300 + Math.floor(chance() * 4_000);

  function newCode(merchant: Merchant): Code {
    const body = {
      ...{ requestKey: crypto.randomUUID(), name: 'Balcão' },
      amountCents: chance() < 0.5 ? null : cents(),
    };
    const code: Code = {
      ...{ merchant, key: keyOf(merchant), body, identifier: '', shown: null, payments: [] },
      request: newRequest('static code', async () => {
        const answer = await call(merchant, 'POST', '/static-codes', body);
        if (answer.status === 201) code.identifier = answer.body.identifier;
        return answer;
      }),
    };
    codes.push(code);
    return code;
  }

  async function shop(merchant: Merchant): Promise<void> {
    for (let n = 0; isRunning() && n < mostCodes; n++) {
      const code = newCode(merchant);
      await insist(code.request);
      if (n > 0 && chance() < 0.5) underWay.push(retire(code));
      await sleep(2_000 + chance() * 10_000);
    }
  }

  async function retire({ merchant, request }: Code): Promise<void> {
    await sleep(chance() * 15_000);
    await call(merchant, 'PATCH', `/static-codes/${request.id}`, { status: 'retired' });
  }

  /** At the counter of a merchant. */
  async function payers(merchant: Merchant): Promise<void> {
    while (isRunning()) {
      await sleep(200 + chance() * 900);
      const own = made().filter((code) => code.merchant === merchant);
      const code = own[Math.floor(chance() * own.length)];
      if (code) await pay(code);
      if (code && chance() < 0.15) underWay.push(giveBack(code));
    }
  }

  function pay({ identifier, key, body }: Code): Promise<Answer> {
    const amountCents = body.amountCents === null || chance() < 0.1 ? cents() : body.amountCents;
    const fate = chance();
    const other = keys[Math.floor(chance() * keys.length)] ?? key;
    const into = (name: string | undefined, to: string) =>
      control('POST', '/control/static', { identifier: name, amountCents, key: to });
    if (fate < 0.72) return into(identifier, key);
    if (fate < 0.82) return into(identifier.toLowerCase(), key);
    if (fate < 0.87) return into(identifier, other);
    if (fate < 0.91) return into(nobodys, other);
    return into(fate < 0.96 ? undefined : 'PEDIDO123', other);
  }

  async function giveBack({ merchant, request }: Code): Promise<void> {
    const { status, body } = await call(merchant, 'GET', `/static-codes/${request.id}/payments?limit=5`);
    const [payment] = status === 200 ? body.payments : [];
    if (!payment || !isRunning()) return;
    await refund(
      merchant,
      payment.id,
      chance() < 0.5 ? payment.amountCents : Math.ceil(payment.amountCents / 2),
    );
  }

  const codeOf = ({ identifier, key }: CodePix): Code | undefined =>
    codes.find((code) => code.identifier === identifier.toUpperCase() && code.key === key);

  return {
    begin: (): Promise<unknown>[] => merchants.flatMap((merchant) => [shop(merchant), payers(merchant)]),
    ended: (): Promise<unknown> => Promise.all(underWay),

    /** The same code must come back. */
    repeat: (): Promise<void> => repeat(() => codes.map(({ request }) => request)),

    async look(): Promise<void> {
      await inTurns(made(), async (code) => {
        const path = `/static-codes/${code.request.id}`;
        const { status, body } = await call(code.merchant, 'GET', path);
        const payments = await pagesOf<ShownPayment>((page) =>
          call(code.merchant, 'GET', `${path}/payments?${page}`),
        );
        if (status === 200 && payments !== null) Object.assign(code, { shown: body, payments });
      });
    },

    /** How many Pix of codes their merchants do not list. */
    behind({ codes: pix }: Truth): number {
      const listed = new Set(made().flatMap(({ payments }) => payments.map(({ endToEnd }) => endToEnd)));
      return pix.filter((one) => codeOf(one) && !listed.has(one.endToEnd)).length;
    },

    /** Each Pix that came for no charge as one of its payment, as the service lists it; under no id of a payment where it has none. */
    asCharges({ codes: pix }: Truth): ChargeTruth[] {
      const ids = new Map(
        made().flatMap(({ payments }) => payments.map(({ endToEnd, id }) => [endToEnd, id] as const)),
      );
      return pix.map(({ identifier, key, returns, ...one }) => ({
        ...one,
        ...(returns && { returns: returns.map((back) => ({ ...back, endToEnd: one.endToEnd })) }),
        txid: ids.get(one.endToEnd)?.replaceAll('-', '') ?? `pix ${one.endToEnd}`,
        status: 'paid',
      }));
    },
    owners: (): [string, string][] =>
      made().flatMap(({ merchant, payments }) =>
        payments.map(({ id }): [string, string] => [id.replaceAll('-', ''), merchant.accountId]),
      ),

    faults(truth: Truth, events: EventsOf): string[] {
      const byCode = Map.groupBy(truth.codes, codeOf);
      return [
        ...codes.flatMap(({ request }) => faultsOfRequest('a static code', request)),
        ...made().flatMap((code) => faultsOf(code, byCode.get(code) ?? [], events)),
      ];
    },

    figures: (truth: Truth) => ({
      codes: codes.length,
      pix: truth.codes.length,
      ofNoMerchant: truth.codes.filter((one) => codeOf(one) === undefined).length,
      payments: made().reduce((sum, { payments }) => sum + payments.length, 0),
      notices: counted(
        made()
          .flatMap(({ payments }) => payments)
          .filter(({ notice }) => notice !== undefined),
        ({ notice }) => notice as string,
      ),
    }),
  };
}

/** The payments of a code are the Pix that came under it, each once, and its counters say so. */
function faultsOf(
  { request, body, shown, payments }: Code,
  pix: readonly CodePix[],
  events: EventsOf,
): string[] {
  const lineOf = ({ endToEnd, amountCents }: { endToEnd: string; amountCents: number }) =>
    `${endToEnd} of ${amountCents}`;
  const [ours, theirs] = [payments.map(lineOf), pix.map(lineOf)];
  const sum = pix.reduce((cents, { amountCents }) => cents + amountCents, 0);
  const of = `the code ${request.id}`;
  return [
    ...theirs.filter((one) => !ours.includes(one)).map((one) => `${of} lacks the Pix ${one}`),
    ...ours.filter((one) => !theirs.includes(one)).map((one) => `${of} has a Pix that never came: ${one}`),
    ...(ours.length === theirs.length ? [] : [`${of} has ${ours.length} payments, ${theirs.length} came`]),
    ...(shown?.paidCount === pix.length && shown.paidCents === sum
      ? []
      : [`${of} says ${shown?.paidCount} of ${shown?.paidCents}, ${pix.length} of ${sum} came`]),
    ...payments.flatMap(({ id, status, amountCents, notice }) => {
      const isOther = body.amountCents !== null && body.amountCents !== amountCents;
      const times = timesOf(events, id, 'charge.paid');
      return [
        ...(status === 'paid' ? [] : [`the payment ${id} of a code is ${status}`]),
        ...(/another amount/.test(notice ?? '') === isOther
          ? []
          : [`the payment ${id} of a code has the notice ${notice}`]),
        ...(times === 1 ? [] : [`the payment ${id} of a code reported charge.paid ${times} times`]),
      ];
    }),
  ];
}
