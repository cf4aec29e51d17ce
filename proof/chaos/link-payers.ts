import { createAsking, faultsOfRequest, newRequest, type Request } from './asking.ts';
import { type ChargeTruth, chargesIn, counted, type Merchant, type Truth } from './giving-back.ts';
import { type Answer, inTurns, sleep } from './processes.ts';
import { type EventsOf, pagesOf, type Surroundings, timesOf } from './street.ts';

/**
 * Payment links on bad days: merchants make them, of a fixed or an open amount, with a stock, for one payment, or with a near end; strangers and bots look at their
 * pages; payers send the form, again and again where it had no answer, pay once, twice, too late or another amount, get a new code in two tabs, and leave. At the end
 * the charges, the counters and the events of each link are compared with what each payer did at the provider.
 */
interface Link {
  merchant: Merchant;
  body: {
    requestKey: string;
    title: string;
    amountCents: number | null;
    maxPayments: number | null;
    expiresAt: string | null;
    minimumCents?: number;
    maximumCents?: number;
    payerFields: { name: string; document: string };
  };
  request: Request;
  /** The path of its page, once an answer named it. */
  path: string;
  forms: Form[];
  /** A payer paid by a code that the service may have ended: one more than the stock has. */
  paidLate: boolean;
  /** The merchant closed it; `maybe`: the call had no answer. */
  disabled: 'no' | 'yes' | 'maybe';
  shown: ShownLink | null;
  /** As the merchant lists them. */
  charges: ShownCharge[];
}

interface ShownLink {
  status: string;
  openCount: number;
  paidCount: number;
  paidCents: number;
}

interface ShownCharge {
  id: string;
  amountCents: number;
  status: string;
}

/** A form of a payer, as it is sent as often as it takes. */
interface Form {
  request: Request;
  /** For a new code: the charge that it replaces, which is the answer as long as it can be paid. */
  replaces: string | null;
}

const kinds = ['fixed', 'open', 'stock', 'one', 'ending'] as const;
const [leastCents, mostCents] = [500, 9_000];
const providerId = (id: string): string => id.replaceAll('-', '');

export function createLinkPayers(around: Surroundings) {
  const { merchants, call, visit, control, chance, isRunning, isTold, made: madeCharge } = around;
  const { ask, insist, repeat, until } = createAsking(around);
  const links: Link[] = [];
  const underWay: Promise<unknown>[] = [];
  const made = (): Link[] => links.filter(({ request }) => request.id !== null);
  const formsOf = (): Form[] => made().flatMap(({ forms }) => forms);
  let strangers = 0;
  /** The network of a stranger, each of its own. */
  const newAddress = (): string => {
    const n = ++strangers;
    return `198.${18 + ((n >> 16) & 1)}.${(n >> 8) & 255}.${n & 255}`;
  };

  function newLink(merchant: Merchant): Link {
    const kind = kinds[Math.floor(chance() * kinds.length)] ?? 'fixed';
    const body: Link['body'] = {
      ...{ requestKey: crypto.randomUUID(), title: 'Encomenda do dia', maxPayments: null, expiresAt: null },
      amountCents: kind === 'open' ? null : leastCents + Math.floor(chance() * (mostCents - leastCents)),
      ...(kind === 'open' && { minimumCents: leastCents, maximumCents: mostCents }),
      ...(kind === 'stock' && { maxPayments: 2 }),
      ...(kind === 'one' && { maxPayments: 1 }),
      ...(kind === 'ending' && { expiresAt: new Date(Date.now() + 4_000 + chance() * 8_000).toISOString() }),
      payerFields: {
        name: chance() < 0.3 ? 'required' : 'optional',
        document: chance() < 0.2 ? 'optional' : 'none',
      },
    };
    const link: Link = {
      ...{ merchant, body, path: '', forms: [], paidLate: false, disabled: 'no', shown: null, charges: [] },
      request: newRequest('link', async () => {
        const answer = await call(merchant, 'POST', '/payment-links', body);
        if (answer.status === 201) link.path = new URL(answer.body.url).pathname;
        return answer;
      }),
    };
    links.push(link);
    return link;
  }

  function send(link: Link, from: string, fields: object, replaces: string | null): Form {
    const body = { method: 'pix', formKey: crypto.randomUUID(), ...fields };
    const request = newRequest('link form', () => visit('POST', `${link.path}/charge`, from, body));
    const form = { request, replaces };
    link.forms.push(form);
    return form;
  }

  /** The amount that a payer sends counts where the link has none. */
  function newForm(link: Link, from: string): Form {
    const typed = leastCents + Math.floor(chance() * (mostCents - leastCents));
    const fields = {
      payerName: chance() < 0.5 ? 'Ana 🌻' : 'João',
      ...((link.body.amountCents === null || chance() < 0.2) && { amountCents: typed }),
      ...(link.body.payerFields.document === 'optional' && { payerDocument: '111.444.777-35' }),
    };
    return send(link, from, fields, null);
  }

  /** Nothing is made by a look, of a payer or of a bot. */
  async function look(link: Link, from: string): Promise<void> {
    const paths = [
      link.path,
      link.path,
      `${link.path}?lang=en`,
      `${link.path}/state`,
      `${link.path}/logo.png`,
    ];
    await Promise.all(paths.map((path) => visit('GET', path, from)));
    if (chance() < 0.3) await visit('HEAD', link.path, newAddress());
  }

  async function shop(merchant: Merchant): Promise<void> {
    while (isRunning()) {
      const link = newLink(merchant);
      await insist(link.request);
      if (link.request.id !== null) {
        const comers = 1 + Math.floor(chance() * 3);
        for (let n = 0; n < comers; n++) underWay.push(payer(link));
        if (chance() < 0.15) underWay.push(disable(link));
      }
      await sleep(1_500 + chance() * 2_500);
    }
  }

  async function disable(link: Link): Promise<void> {
    await sleep(chance() * 6_000);
    const change = { status: 'disabled' };
    const { status } = await call(link.merchant, 'PATCH', `/payment-links/${link.request.id}`, change);
    if (status === 200) link.disabled = 'yes';
    else if (status < 400 || status >= 500) link.disabled = 'maybe';
  }

  async function payer(link: Link): Promise<void> {
    const from = newAddress();
    await sleep(chance() * 1_000);
    await look(link, from);
    const { request } = newForm(link, from);
    await insist(request);
    const { id } = request;
    if (id === null) return;
    madeCharge(link.merchant, id);
    await sleep(chance() * 1_500);
    if (link.body.expiresAt !== null)
      await sleep(Math.max(0, Date.parse(link.body.expiresAt) - Date.now() - 200 + chance() * 400));
    await atTheBank(link, id);
  }

  const act = (id: string, action: string, fields: object = {}): Promise<Answer> =>
    control('POST', `/control/charges/${providerId(id)}/${action}`, fields);

  async function atTheBank(link: Link, id: string): Promise<void> {
    const fate = chance();
    if (fate < 0.58) await until(() => act(id, 'pay'));
    else if (fate < 0.68) {
      await until(() => act(id, 'pay'));
      await act(id, 'pay');
    } else if (fate < 0.71) await until(() => act(id, 'pay', { amountCents: leastCents - 1 }));
    else if (fate < 0.83) await newCode(link, id);
    else if (fate < 0.86) await until(() => act(id, 'remove'));
  }

  /** A code whose time is over is replaced, by two tabs at once; its payer pays the new one, the old one, or both. */
  async function newCode(link: Link, old: string): Promise<void> {
    if (!(await until(() => act(old, 'expire')))) return;
    const from = newAddress();
    // Amount and name are those of the old code.
    const tabs = [send(link, from, { replaces: old }, old), send(link, from, { replaces: old }, old)];
    // Until the service knows that the time of the old one is over, that is the answer.
    let [id] = tabs.flatMap(newCodesOf);
    for (let tries = 0; id === undefined && isRunning() && tries < 8; tries++) {
      await sleep(1_000 + chance() * 1_000);
      await Promise.all(tabs.map(({ request }) => ask(request)));
      [id] = tabs.flatMap(newCodesOf);
    }
    if (id) madeCharge(link.merchant, id);
    const which = chance();
    if (id && which < 0.7) await until(() => act(id, 'pay'));
    if (which < 0.5) return;
    link.paidLate = true;
    await act(old, 'pay');
  }

  return {
    begin: (): Promise<unknown>[] => merchants.map(shop),
    ended: (): Promise<unknown> => Promise.all(underWay),

    /** The same link and the same charge must come back. */
    async repeat(): Promise<void> {
      await repeat(() => links.map(({ request }) => request));
      await repeat(() => formsOf().map(({ request }) => request));
    },

    async look(): Promise<void> {
      await inTurns(made(), async (link) => {
        const path = `/payment-links/${link.request.id}`;
        const { status, body } = await call(link.merchant, 'GET', path);
        const charges = await pagesOf<ShownCharge>((page) =>
          call(link.merchant, 'GET', `${path}/payments?${page}`),
        );
        if (status === 200 && charges !== null) Object.assign(link, { shown: body, charges });
      });
    },

    /** Charges that do not say what the provider says. */
    behind(truth: Truth): { id: string; why: string }[] {
      const rows = chargesIn(truth);
      return made().flatMap(({ charges }) =>
        charges.flatMap((charge) => {
          const why = disagreement(charge, rows.get(providerId(charge.id)), isTold());
          return why === null ? [] : [{ id: charge.id, why: `the charge ${charge.id} of a link ${why}` }];
        }),
      );
    },
    owners: (): [string, string][] =>
      made().flatMap(({ merchant, charges }) =>
        charges.map(({ id }): [string, string] => [providerId(id), merchant.accountId]),
      ),
    /** Paid with another amount alone. */
    odd: (truth: Truth): string[] => {
      const rows = chargesIn(truth);
      return made()
        .flatMap(({ charges }) => charges)
        .filter((charge) => isOdd(charge, rows.get(providerId(charge.id))))
        .map(({ id }) => providerId(id));
    },

    faults(truth: Truth, events: EventsOf): string[] {
      const rows = chargesIn(truth);
      return [
        ...links.flatMap(({ request }) => faultsOfRequest('a link', request)),
        ...formsOf().flatMap((form) => faultsOfForm(form)),
        ...made().flatMap((link) => [
          ...faultsOfTabs(link),
          ...faultsOfCharges(link, rows),
          ...faultsOfCounters(link, rows),
          ...faultsOfEvents(link, events),
        ]),
      ];
    },

    figures: () => ({
      links: links.length,
      states: counted(made(), ({ shown }) => shown?.status ?? 'unread'),
      forms: formsOf().length,
      refused: counted(
        formsOf().filter(({ request }) => request.refused !== null),
        ({ request }) => request.refused as string,
      ),
      charges: counted(
        made().flatMap(({ charges }) => charges),
        ({ status }) => status,
      ),
      newCodes: new Set(
        formsOf()
          .filter(({ replaces }) => replaces !== null)
          .flatMap(newCodesOf),
      ).size,
      overpaid: made().filter(({ body, shown }) => (shown?.paidCount ?? 0) > (body.maxPayments ?? Infinity))
        .length,
    }),
  };
}

/** The Pix that a charge received, by the provider. */
export const receivedBy = (row: ChargeTruth | undefined): { amountCents: number; endToEnd: string }[] =>
  row?.payments ??
  (row?.endToEnd === undefined ? [] : [{ amountCents: row.amountCents, endToEnd: row.endToEnd }]);

const isPaid = ({ amountCents }: ShownCharge, row: ChargeTruth | undefined): boolean =>
  receivedBy(row).some((pix) => pix.amountCents === amountCents);

const isOdd = (charge: ShownCharge, row: ChargeTruth | undefined): boolean =>
  receivedBy(row).length > 0 && !isPaid(charge, row);

/** @param isTold whether lists and comparison have run: until then a charge that expired may have been paid since, by a delivery that was lost */
function disagreement(charge: ShownCharge, row: ChargeTruth | undefined, isTold: boolean): string | null {
  const { status } = charge;
  const expected = isPaid(charge, row)
    ? ['paid', ...(isTold ? [] : ['expired'])]
    : row === undefined
      ? ['failed', 'unknown']
      : row.status === 'removed'
        ? ['failed']
        : ['pending', 'expired', 'unknown'];
  return expected.includes(status) ? null : `is ${status}, the provider says ${JSON.stringify(row ?? null)}`;
}

/** The answer to a form for a new code is the old one as long as that can be paid: what comes later is another one, or none. */
function faultsOfForm({ request, replaces }: Form): string[] {
  const { id, otherId } = request;
  const wasOld = replaces !== null && (id === replaces || otherId === replaces);
  return faultsOfRequest('the form of a link', wasOld ? { ...request, otherId: null } : request);
}

/** The answers to a form for a new code, but for the old one. */
const newCodesOf = ({ request: { id, otherId }, replaces }: Form): string[] =>
  [id, otherId].flatMap((one) =>
    one === null || one === replaces || one.startsWith('refused') ? [] : [one],
  );

/** Tabs that ask for a new code in the place of the same old one get the same. */
function faultsOfTabs({ forms }: Link): string[] {
  const made = new Map<string, Set<string>>();
  for (const form of forms) {
    if (form.replaces === null) continue;
    const ids = made.get(form.replaces) ?? new Set();
    for (const id of newCodesOf(form)) ids.add(id);
    made.set(form.replaces, ids);
  }
  return [...made].flatMap(([old, ids]) =>
    ids.size > 1 ? [`the code ${old} was replaced by ${[...ids].join(' and ')}`] : [],
  );
}

/** The charges of a link are those that its forms made, each with the amount of the link or of its form. */
function faultsOfCharges(
  { request, body, forms, charges }: Link,
  rows: ReadonlyMap<string, ChargeTruth>,
): string[] {
  const asked = new Set(forms.flatMap((form) => [form.request.id ?? '', form.request.otherId ?? '']));
  const listed = new Set(charges.map(({ id }) => id));
  return [
    ...(listed.size === charges.length ? [] : [`the link ${request.id} lists a charge twice`]),
    ...charges.filter(({ id }) => !asked.has(id)).map(({ id }) => `no form made the charge ${id} of a link`),
    ...forms.flatMap(({ request: { id } }) =>
      id === null || listed.has(id) ? [] : [`the charge ${id} was answered, and its link does not list it`],
    ),
    ...charges.flatMap(({ id, amountCents }) => {
      const own = body.amountCents === null || body.amountCents === amountCents;
      const there = rows.get(providerId(id))?.amountCents ?? amountCents;
      return own && there === amountCents
        ? []
        : [`the charge ${id} of a link asks for ${amountCents}, ${there} at the provider`];
    }),
  ];
}

/** The counters of a link are what its payers paid; a stock is not oversold but by codes that were paid after their end. */
function faultsOfCounters(link: Link, rows: ReadonlyMap<string, ChargeTruth>): string[] {
  const { request, body, shown, charges, paidLate } = link;
  if (shown === null) return [`the link ${request.id} cannot be read`];
  const paid = charges.filter((charge) => isPaid(charge, rows.get(providerId(charge.id))));
  const counters = {
    openCount: charges.filter(({ status }) => status === 'unknown' || status === 'pending').length,
    paidCount: paid.length,
    paidCents: paid.reduce((cents, { amountCents }) => cents + amountCents, 0),
  };
  const names = Object.keys(counters) as (keyof typeof counters)[];
  const { maxPayments } = body;
  const isOversold = maxPayments !== null && maxPayments > 1 && paid.length > maxPayments && !paidLate;
  return [
    ...names
      .filter((name) => shown[name] !== counters[name])
      .map((name) => `the link ${request.id} says ${name} ${shown[name]}, its payers say ${counters[name]}`),
    ...(isOversold ? [`the link ${request.id} of ${maxPayments} was paid ${paid.length} times`] : []),
    ...(statesOf(link, paid.length).includes(shown.status)
      ? []
      : [`the link ${request.id} is ${shown.status}, paid ${paid.length} times, ${JSON.stringify(body)}`]),
  ];
}

function statesOf({ body: { maxPayments, expiresAt }, disabled }: Link, paidCount: number): string[] {
  const isSold = maxPayments !== null && paidCount >= maxPayments;
  const isOver = expiresAt !== null && Date.parse(expiresAt) <= Date.now();
  const asItStands = isSold ? 'completed' : isOver ? 'expired' : 'active';
  // One that was sold is closed by its merchant as well.
  if (disabled === 'yes') return isSold ? ['completed', 'disabled'] : ['disabled'];
  return disabled === 'maybe' ? [asItStands, 'disabled'] : [asItStands];
}

/** Each thing that happened to a link and its charges was reported once. */
function faultsOfEvents({ request, body, shown, charges }: Link, events: EventsOf): string[] {
  const { paidCount = 0, status } = shown ?? {};
  const most = body.maxPayments ?? Number.POSITIVE_INFINITY;
  const expired = timesOf(events, request.id, 'payment_link.expired');
  const expected = {
    'payment_link.completed': paidCount >= most ? 1 : 0,
    'payment_link.overpaid': Math.max(0, paidCount - most),
    'payment_link.expired': status === 'expired' ? 1 : Math.min(expired, 1),
  };
  return [
    ...Object.entries(expected).flatMap(([type, times]) =>
      timesOf(events, request.id, type) === times
        ? []
        : [
            `the link ${request.id}, paid ${paidCount} of ${most} times, reported ${type} ${timesOf(events, request.id, type)} times`,
          ],
    ),
    ...charges.flatMap((charge) => {
      const times = timesOf(events, charge.id, 'charge.paid');
      return times === (charge.status === 'paid' ? 1 : 0)
        ? []
        : [`the ${charge.status} charge ${charge.id} of a link reported charge.paid ${times} times`];
    }),
  ];
}
