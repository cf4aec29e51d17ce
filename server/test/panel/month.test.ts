import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { textOfPdf } from '@vintem/testkit/pdf-text.ts';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import { withParts } from '@vintem/testkit/with-parts.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Movement } from '../../src/money/decide.ts';
import { type EventKind, eventKinds } from '../../src/money/journal.ts';
import { newPayment } from '../../src/money/payment.ts';
import { dayBefore, endsAt, startsAt } from '../../src/operate/closes/day.ts';
import { closeDays } from '../../src/operate/closes/step.ts';
import { dayOf } from '../../src/operate/statement/period.ts';
import { paymentKey, payments } from '../../src/store/rows/payments.sql.ts';
import { type ChainKey, type Command, createTill, put, read } from '../../src/store/till.ts';

/**
 * Thirty days of two shops with 10,000 movements of every kind, posted by the till on their days, closed each night. Home, statement, closes and files give the
 * figures that this test has counted, to the cent.
 */

const dayMs = 24 * 3_600_000;
const movementsADay = 167;
const startedAt = Date.now();
/** The oldest first; the last one is yesterday. */
const days = Array.from({ length: 30 }, (_, at) => dayOf(startedAt - (30 - at) * dayMs));
const [firstDay = '', lastDay = ''] = [days[0], days.at(-1)];

interface Figures {
  inCents: number;
  outCents: number;
  feeCents: number;
  refundCents: number;
  holdCents: number;
}
const names = ['inCents', 'outCents', 'feeCents', 'refundCents', 'holdCents'] as const;
const noFigures = (): Figures => ({ inCents: 0, outCents: 0, feeCents: 0, refundCents: 0, holdCents: 0 });
const changeOf = (one: Figures): number =>
  one.inCents - one.outCents - one.feeCents - one.refundCents - one.holdCents;
const sum = (cents: readonly number[]): number => cents.reduce((all, one) => all + one, 0);
const sumOf = (some: readonly Figures[]): Figures => {
  const all = noFigures();
  for (const one of some) for (const name of names) all[name] += one[name];
  return all;
};

/** Chance that a seed repeats. */
function chanceOf(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return {
    between: (least: number, most: number): number => least + Math.floor(next() * (most - least + 1)),
  };
}

interface Posted {
  subject: string;
  event: EventKind;
  movement: Movement;
  /** A transfer that begins with it. */
  transfer?: { amountCents: number; feeCents: number };
}

/** The books of one shop, counted here and not by the program that is looked at. */
function shopOf(seed: number) {
  const chance = chanceOf(seed);
  const balance = { available: 0, receivable: 0, wanted: 0 };
  const open: Record<
    'transfers' | 'refunds' | 'holds',
    { subject: string; cents: number; feeCents: number }[]
  > = {
    ...{ transfers: [], refunds: [], holds: [] },
  };
  let today = noFigures();

  /** Pays the debt, then fills what holds want; what a hold takes counts as held. */
  function comesIn(cents: number): void {
    const repaid = Math.min(balance.receivable, cents);
    const captured = Math.min(balance.wanted, cents - repaid);
    balance.receivable -= repaid;
    balance.wanted -= captured;
    balance.available += cents - repaid - captured;
    today.holdCents += captured;
    for (let left = captured; left > 0; ) {
      const hold = open.holds.find((one) => one.cents < one.feeCents);
      if (!hold) throw new Error('no hold wants it');
      const part = Math.min(left, hold.feeCents - hold.cents);
      hold.cents += part;
      left -= part;
    }
  }
  function goesOut(cents: number): void {
    const taken = Math.min(balance.available, cents);
    balance.available -= taken;
    balance.receivable += cents - taken;
  }
  const covers = (cents: number): boolean => balance.receivable === 0 && balance.available >= cents;
  const post = (movement: Movement, event: EventKind, subject: string = crypto.randomUUID()): Posted => ({
    ...{ subject, event, movement },
  });

  function credit(kind: 'credit' | 'creditFromSuspense' | 'creditBesidePayment'): Posted {
    const amountCents = chance.between(200, 200_000);
    const feeCents = 10 + Math.round((amountCents * 99) / 10_000);
    today.inCents += amountCents;
    today.feeCents += feeCents;
    comesIn(amountCents - feeCents);
    return post(
      { kind, amountCents, feeCents },
      kind === 'credit' ? eventKinds.credit : eventKinds.resolution,
    );
  }
  function reserve(): Posted {
    const grossCents = chance.between(1_000, 120_000);
    const feeCents = chance.between(0, 60);
    if (!covers(grossCents)) return credit('credit');
    goesOut(grossCents);
    today.outCents += grossCents - feeCents;
    today.feeCents += feeCents;
    const made = post({ kind: 'reserve', grossCents }, eventKinds.reserve);
    open.transfers.push({ subject: made.subject, cents: grossCents, feeCents });
    return { ...made, transfer: { amountCents: grossCents, feeCents } };
  }
  function endTransfer(refused: boolean): Posted {
    const one = open.transfers.shift();
    if (!one) return reserve();
    const { subject, cents: grossCents, feeCents } = one;
    if (!refused) return post({ kind: 'complete', grossCents, feeCents }, eventKinds.complete, subject);
    today.outCents -= grossCents - feeCents;
    today.feeCents -= feeCents;
    comesIn(grossCents);
    return post({ kind: 'release', grossCents }, eventKinds.release, subject);
  }
  function refund(): Posted {
    const amountCents = chance.between(50, 30_000);
    if (!covers(amountCents)) return credit('credit');
    goesOut(amountCents);
    today.refundCents += amountCents;
    const made = post({ kind: 'refundReserve', amountCents }, eventKinds.refundReserve);
    open.refunds.push({ subject: made.subject, cents: amountCents, feeCents: chance.between(0, 20) });
    return made;
  }
  function endRefund(refused: boolean): Posted {
    const one = open.refunds.shift();
    if (!one) return refund();
    const { subject, cents: amountCents, feeCents } = one;
    if (refused) {
      today.refundCents -= amountCents;
      comesIn(amountCents);
      return post({ kind: 'refundRelease', amountCents }, eventKinds.refundRelease, subject);
    }
    today.feeCents -= feeCents;
    comesIn(feeCents);
    return post({ kind: 'refundComplete', amountCents, feeCents }, eventKinds.refundComplete, subject);
  }
  /** A dispute; now and then of more than is there, so that it takes of what comes later. */
  function hold(): Posted {
    const amountCents = chance.between(500, 60_000);
    const captured = Math.min(balance.available, amountCents);
    balance.available -= captured;
    balance.wanted += amountCents - captured;
    today.holdCents += captured;
    const made = post({ kind: 'hold', amountCents }, eventKinds.hold);
    open.holds.push({ subject: made.subject, cents: captured, feeCents: amountCents });
    return made;
  }
  function endHold(lost: boolean): Posted {
    const one = open.holds.shift();
    if (!one) return hold();
    const { subject, cents: capturedCents, feeCents: amountCents } = one;
    const wantedCents = amountCents - capturedCents;
    balance.wanted -= wantedCents;
    today.holdCents -= capturedCents;
    if (lost) {
      today.outCents += amountCents;
      goesOut(amountCents - capturedCents);
      return post({ kind: 'debitHeld', amountCents, capturedCents, wantedCents }, eventKinds.debit, subject);
    }
    comesIn(capturedCents);
    return post({ kind: 'releaseHold', capturedCents, wantedCents }, eventKinds.releaseHold, subject);
  }
  /** The provider, the acquirer or a person takes: covered or not. */
  function taken(kind: 'debit' | 'debitToSuspense' | 'cardSeize'): Posted {
    // Now and then more than there is.
    const beyond = chance.between(1, 20) === 1 ? balance.available : 0;
    const amountCents = beyond + chance.between(100, 25_000);
    today.outCents += amountCents;
    goesOut(amountCents);
    if (kind === 'cardSeize')
      return post({ kind, amountCents, heldCents: 0, costCents: 7 }, eventKinds.cardSeize);
    return post({ kind, amountCents }, kind === 'debit' ? eventKinds.debit : eventKinds.resolution);
  }
  /** A transfer that came back, a chargeback that was won, a debt that the operator takes over. */
  function givenBack(kind: 'return' | 'cardGiveBack' | 'waiveDebt'): Posted {
    if (kind === 'waiveDebt' && balance.receivable === 0) return credit('credit');
    const amountCents = kind === 'waiveDebt' ? balance.receivable : chance.between(100, 40_000);
    today.inCents += amountCents;
    comesIn(amountCents);
    if (kind === 'cardGiveBack')
      return post({ kind, amountCents, heldCents: 0, costCents: 7 }, eventKinds.cardGiveBack);
    return post({ kind, amountCents }, kind === 'return' ? eventKinds.return : eventKinds.resolution);
  }
  /** A transfer that had ended otherwise: it left after all, or it never left. */
  function corrected(left: boolean): Posted {
    const [netCents, feeCents] = [chance.between(500, 30_000), chance.between(0, 60)];
    today.outCents += left ? netCents : -netCents;
    today.feeCents += left ? feeCents : -feeCents;
    if (left) goesOut(netCents + feeCents);
    else comesIn(netCents + feeCents);
    return post(
      { kind: left ? 'debitLateCompletion' : 'creditNeverLeft', netCents, feeCents },
      eventKinds.resolution,
    );
  }

  const acts: readonly [weight: number, act: () => Posted][] = [
    [40, () => credit('credit')],
    [12, reserve],
    [10, () => endTransfer(false)],
    [4, () => endTransfer(true)],
    [8, refund],
    [6, () => endRefund(false)],
    [2, () => endRefund(true)],
    [3, hold],
    [2, () => endHold(true)],
    [2, () => endHold(false)],
    [2, () => taken('debit')],
    [1, () => taken('debitToSuspense')],
    [1, () => taken('cardSeize')],
    [2, () => givenBack('return')],
    [1, () => givenBack('cardGiveBack')],
    [1, () => givenBack('waiveDebt')],
    [2, () => credit('creditFromSuspense')],
    [1, () => credit('creditBesidePayment')],
    [1, () => corrected(true)],
    [1, () => corrected(false)],
  ];
  const wheel = acts.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));

  return {
    day(movements: number): { posted: Posted[]; figures: Figures } {
      today = noFigures();
      const posted = Array.from({ length: movements }, () => {
        const act = wheel[chance.between(0, wheel.length - 1)];
        return act?.() ?? credit('credit');
      });
      return { posted, figures: today };
    },
  };
}

let service: Service;
let merchant: Merchant;
let tab: Tab;
const operations: string[] = [];
/** By operation, in the order of the days. */
const counted = new Map<string, Figures[]>();
const seen = new Set<string>();

/** All postings of a day in one command each, in their order. */
async function postDay(chain: ChainKey, day: string, posted: readonly Posted[]): Promise<void> {
  const { runtime } = service;
  const at = startsAt(day) + dayMs / 2;
  const till = createTill({ ...service.cellOf(merchant), clock: { ...runtime.clock, now: () => at } });
  const command = (one: Posted): Command<'posted'> => {
    const { subject, event, movement, transfer } = one;
    const token = crypto.randomUUID();
    const begun = {
      ...{ accountId: chain.accountId, id: subject, operationId: chain.chainId, kind: 'transfer' as const },
      ...{ requestKey: subject, fingerprint: Buffer.alloc(33), description: 'Repasse', payerName: null },
      ...{ pixKeyType: 'EMAIL' as const, command: token, connection: 'simulator' },
      pixKey: runtime.secrets.seal('maria@loja.example', subject),
    };
    return {
      token,
      chains: [chain],
      reads: transfer ? [read(payments, paymentKey(chain.accountId, subject))] : [],
      eventRefs: [],
      deadlineMs: runtime.clock.monotonicMs() + 120_000,
      decide: () => ({
        answer: 'posted',
        postings: [
          {
            accountId: chain.accountId,
            subject,
            event,
            reference: '',
            chain,
            movement,
            effectiveAt: at,
            connection: 'simulator',
          },
        ],
        ...(transfer && {
          writes: [
            put(payments, newPayment({ ...begun, ...transfer }, 'unknown', at, { by: 'api', id: 'test' })),
          ],
        }),
      }),
    };
  };
  await Promise.all(posted.map((one) => till.submit(command(one))));
}

const account = async (path: string) => (await tab.call('GET', `/accounts/${merchant.ownerId}${path}`)).body;
const period = (from = firstDay, to = lastDay): string => `from=${from}&to=${to}`;
const ofMonth = (operationId: string): Figures => sumOf(counted.get(operationId) ?? []);
const onDay = (at: number): Figures => sumOf(operations.map((id) => counted.get(id)?.[at] ?? noFigures()));
const whole = (): Figures => sumOf(operations.map(ofMonth));

beforeAll(async () => {
  service = await openService({ worker: false });
  merchant = await service.newMerchant();
  await newPerson(service, merchant.ownerId, 'bia@padaria.example', 'finance');
  tab = openTab(service);
  await tab.signIn('bia@padaria.example');
  const asked = { name: 'Loja virtual', requestKey: crypto.randomUUID() };
  operations.push(merchant.operationId, (await merchant.call('POST', '/operations', asked)).body.id);
  await service.database.admin(`UPDATE operation SET created_at = now() - interval '90 days'`);
  const shops = operations.map((id, at) => ({ id, shop: shopOf(20_261_129 + at) }));
  // The simulated provider has none of this money: what a close would wait for between two looks at its balance is left out.
  const closing = withParts(service.runtime, ({ clock }) => ({ clock: { ...clock, sleep: async () => {} } }));
  let closedDay = dayBefore(firstDay);
  for (const day of days) {
    await Promise.all(
      shops.map(async ({ id, shop }) => {
        const { posted, figures } = shop.day(movementsADay);
        counted.set(id, [...(counted.get(id) ?? []), figures]);
        for (const { movement } of posted) seen.add(movement.kind);
        await postDay({ accountId: merchant.ownerId, chainId: id }, day, posted);
      }),
    );
    closedDay = (await closeDays(closing, closedDay, endsAt(day) + 3_600_000)).closedTo;
  }
});
afterAll(() => service?.close());

describe('The month of 10,000 movements', () => {
  test('Has every movement that a balance of a merchant can see, and as many journals as were counted', async () => {
    const [row] = await service.database.admin<{ count: string }>(
      'SELECT count(*) FROM journal WHERE account_id = $1',
      [merchant.ownerId],
    );
    expect(Number(row?.count)).toBe(days.length * operations.length * movementsADay);
    expect(Number(row?.count)).toBeGreaterThanOrEqual(10_000);
    expect([...seen].sort()).toEqual(
      [
        ...['cardGiveBack', 'cardSeize', 'complete', 'credit', 'creditBesidePayment', 'creditFromSuspense'],
        ...['creditNeverLeft', 'debit', 'debitHeld', 'debitLateCompletion', 'debitToSuspense', 'hold'],
        ...['refundComplete', 'refundRelease', 'refundReserve', 'release', 'releaseHold', 'reserve'],
        ...['return', 'waiveDebt'],
      ].sort(),
    );
  });

  test('The statement has the figures of the month, of each operation, and of each day', async () => {
    const { totals, openingBalanceCents, closingBalanceCents } = await account(
      `/statement?limit=1&${period()}`,
    );
    expect(totals).toEqual(whole());
    expect([openingBalanceCents, closingBalanceCents]).toEqual([0, changeOf(whole())]);
    for (const id of operations)
      expect((await account(`/statement?limit=1&operationId=${id}&${period()}`)).totals).toEqual(ofMonth(id));
    for (const [at, day] of days.entries())
      expect((await account(`/statement?limit=1&${period(day, day)}`)).totals, day).toEqual(onDay(at));
  });

  test('The lines of the statement, page by page, add up to its figures', async () => {
    const lines: { kind: string; amountCents: number; balanceCents: number }[] = [];
    for (let below: string | null = ''; below !== null; ) {
      const page = await account(`/statement?limit=100&${period()}${below && `&below=${below}`}`);
      lines.push(...page.lines);
      below = page.nextBelow;
    }
    expect(figuresOfKinds(lines.map(({ kind, amountCents }) => [kind, amountCents]))).toEqual(whole());
    let after = changeOf(whole());
    for (const { amountCents, balanceCents } of lines) {
      expect(balanceCents).toBe(after);
      after -= amountCents;
    }
    expect(after).toBe(0);
  });

  test('Home shows what came in and went out on each day', async () => {
    const shown = new Map<string, { inCents: number; outCents: number }>(
      (await account('/overview?days=31')).days.map((one: { day: string }) => [one.day, one]),
    );
    for (const [at, day] of days.entries()) {
      const { inCents, outCents, feeCents, refundCents } = onDay(at);
      expect(shown.get(day), day).toMatchObject({ inCents, outCents: outCents + feeCents + refundCents });
    }
  });

  test('Each close has the figures of its day, and leads to the next one', async () => {
    for (const id of operations) {
      const { closes } = await account(`/closes?limit=31&operationId=${id}`);
      let closing = 0;
      for (const [at, day] of days.entries()) {
        const figures = counted.get(id)?.[at] ?? noFigures();
        const close = closes.find((one: { day: string }) => one.day === day);
        expect(close, day).toMatchObject({ ...figures, openingCents: closing });
        closing += changeOf(figures);
        expect(close.closingCents).toBe(closing);
      }
    }
  });

  test('The files of the closes, a month each, add up to the same figures', async () => {
    const all = noFigures();
    for (const month of new Set(days.map((day) => day.slice(0, 7)))) {
      const [header = [], ...rows] = rowsOf(await account(`/closes.csv?month=${month}&language=en`));
      const at = (name: string) => header.findIndex((one) => one.toLowerCase().startsWith(name));
      const of = (name: string) => sum(rows.map((row) => centsOf(row[at(name)] ?? '')));
      const figures = {
        // Debits are below zero in the file.
        ...{ inCents: of('in'), outCents: -of('out'), feeCents: -of('fee') },
        ...{ refundCents: -of('refund'), holdCents: -of('hold') },
      };
      for (const name of names) all[name] += figures[name];
      const paper = (await pdfOf(`/closes.pdf?month=${month}&language=en`)).split('\n');
      for (const name of names)
        expect(paper, `${month} ${name}`).toContain(
          shownOf(name === 'inCents' ? figures[name] : -figures[name]),
        );
    }
    expect(all).toEqual(whole());
  });

  test.each(['pt-BR', 'en'] as const)(
    'CSV, OFX and PDF of the statement give them too, in %s',
    async (language) => {
      for (const id of operations) {
        const query = `operationId=${id}&${period()}&language=${language}`;
        const figures = ofMonth(id);
        const closing = changeOf(figures);
        const [header = [], ...rows] = rowsOf(await account(`/statement.csv?${query}`));
        const amountAt = header.findIndex((one) => /^(amount|Valor)/.test(one));
        const amounts = rows.map((row) => centsOf(row[amountAt] ?? ''));
        expect(sum(amounts)).toBe(closing);
        if (language === 'en') {
          const kindAt = header.indexOf('entry');
          expect(figuresOfKinds(rows.map((row, at) => [row[kindAt] ?? '', amounts[at] ?? 0]))).toEqual(
            figures,
          );
        }
        const ofx: string = await account(`/statement.ofx?${query}`);
        const transactions = [...ofx.matchAll(/<TRNAMT>(.*)\r/g)].map(([, text = '']) => centsOf(text));
        expect(transactions).toEqual(amounts);
        expect(new Set([...ofx.matchAll(/<FITID>(.*)\r/g)].map(([, id]) => id)).size).toBe(amounts.length);
        expect(centsOf(/<BALAMT>(.*)\r/.exec(ofx)?.[1] ?? '')).toBe(closing);
        const paper = (await pdfOf(`/statement.pdf?${query}`)).split('\n');
        const ends = paper.slice(-40);
        for (const name of names)
          expect(ends, name).toContain(shownOf(name === 'inCents' ? figures[name] : -figures[name]));
        expect(ends).toContain(shownOf(closing));
      }
    },
  );

  test('The mail of a month and the public API read the same lines', async () => {
    for (const operationId of operations) {
      const amounts: number[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const path = `/statement?${period()}&limit=100${cursor && `&cursor=${cursor}`}`;
        const { body } = await merchant.call('GET', path, undefined, operationId);
        amounts.push(...body.lines.map((line: { amountCents: number }) => line.amountCents));
        cursor = body.nextCursor;
      }
      expect(sum(amounts)).toBe(changeOf(ofMonth(operationId)));
    }
  });
});

const text = new Intl.NumberFormat('pt-BR', { minimumFractionDigits: 2 });
/** Nothing has no sign. */
const shownOf = (cents: number): string => text.format((cents + 0) / 100);
/** `1.234,56`, `1234.56`, `-0,05`. */
const centsOf = (written: string): number => {
  const digits = Number(written.replace(/[^\d]/g, ''));
  return /^[-−]/.test(written) ? 0 - digits : digits;
};
const rowsOf = (file: string): string[][] =>
  file
    .replace('\ufeff', '')
    .trimEnd()
    .split('\r\n')
    .map((row) => row.split(file.slice(0, 300).includes(';') ? ';' : ','));

/** Where each kind of line counts, said again here. */
function figuresOfKinds(lines: readonly (readonly [kind: string, cents: number])[]): Figures {
  const figures = noFigures();
  for (const [kind, cents] of lines) {
    if (/^(charge_fee|transfer_fee)/.test(kind)) figures.feeCents -= cents;
    else if (/^refund/.test(kind)) figures.refundCents -= cents;
    else if (/^hold/.test(kind)) figures.holdCents -= cents;
    else if (
      /^(transfer|transfer_cancelled|debit|debit_dispute)$/.test(kind) ||
      (kind === 'correction' && cents < 0)
    )
      figures.outCents -= cents;
    else figures.inCents += cents;
  }
  return figures;
}

async function pdfOf(path: string): Promise<string> {
  const answer = await fetch(`${service.url}/panel/api/accounts/${merchant.ownerId}${path}`, {
    headers: { cookie: tab.cookie() },
  });
  return textOfPdf(Buffer.from(await answer.arrayBuffer()));
}
