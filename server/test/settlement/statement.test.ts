import { Writable } from 'node:stream';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { fillQueryLimit } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keepUnread } from '../../src/flow/keep-unread.ts';
import { createLog } from '../../src/ground/log.ts';
import { stepDayReport } from '../../src/jobs/day-reports.ts';
import { stepLateQueries } from '../../src/jobs/late-queries.ts';
import { stepLateStatement, stepStatement } from '../../src/jobs/statement.ts';
import { dismissLine, listOpenLines, setAside, stepStatementLines } from '../../src/jobs/statement-lines.ts';
import { listIncidents } from '../../src/operate/incidents/incident.ts';
import { pauseAfterRestore } from '../../src/operate/pause.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import {
  dismissUnread,
  listUnread,
  showUnread,
  stepUnread,
  stepUnreadPruning,
} from '../../src/operate/unread/unread-items.ts';
import type { DayReportOutcome, ListWindow, Provider } from '../../src/provider/provider.ts';

// Without a worker nothing is followed up: only the statement reports.
let service: Service;
let merchant: Merchant;

beforeAll(async () => {
  service = await openService({ worker: false });
  merchant = await service.newMerchant();
  await turn();
});
afterAll(() => service.close());

const control = (path: string) => service.simulator.control('POST', `/control/${path}`);
const providerId = (id: string): string => id.replaceAll('-', '');
const queries = async (): Promise<number> =>
  (await service.simulator.control('GET', '/control/state')).body.queries;
const statusOf = async (id: string): Promise<string> =>
  (await merchant.call('GET', `/payments/${id}`)).body.status;

const simulator = (): Provider => {
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no provider');
  return provider;
};

/** One turn now, whenever the last one was, with the whole of the shared limit. */
async function turn(provider = simulator(), runtime = service.runtime): Promise<void> {
  await runtime.sql.run({ name: 'due', text: `UPDATE job SET due_at = 'epoch' WHERE what = 'statement'` });
  await fillQueryLimit(service);
  await stepStatement(runtime, provider);
}

async function expiredCharge(): Promise<string> {
  const { body } = await merchant.charge({ amountCents: 700 });
  await control(`charges/${providerId(body.id)}/expire`);
  // The first look at the provider is due five seconds after the charge was made.
  await until(async () => (await statusOf(body.id)) === 'expired');
  return body.id;
}

test('an expired charge whose payment no webhook reported is paid', async () => {
  const id = await expiredCharge();
  await service.simulator.behave({ webhook: 'drop' });
  await control(`charges/${providerId(id)}/pay`);
  const before = await merchant.balanceCents();
  await turn();
  expect(await statusOf(id)).toBe('paid');
  expect(await merchant.balanceCents()).toBe(before + 700);
  expect(await violations(service)).toEqual([]);
});

test('A Pix that a list shows hours later under its own time is paid by the reading of the next day', async () => {
  const id = await expiredCharge();
  await service.simulator.behave({ webhook: 'drop', listLagMs: 3_600_000 });
  await control(`charges/${providerId(id)}/pay`);
  await turn();
  await service.runtime.sql.run({
    name: 'passed',
    text: `WITH due AS (
        INSERT INTO job VALUES ('late_statement', 'simulator', 'epoch') ON CONFLICT (what, subject) DO UPDATE SET due_at = 'epoch')
      UPDATE connection SET statement_read_to = now() + interval '1 minute'`,
  });
  await service.simulator.behave({ webhook: 'drop' });
  await fillQueryLimit(service);
  await stepLateStatement(service.runtime, simulator());
  expect(await statusOf(id)).toBe('paid');
  await service.runtime.sql.run({ name: 'back', text: 'UPDATE connection SET statement_read_to = now()' });
  const before = await queries();
  await stepLateStatement(service.runtime, simulator());
  expect(await queries()).toBe(before);
  expect(await violations(service)).toEqual([]);
});

test.each([1, 4])(
  '%i expired charges are queried once more after a day, and a late payment is found',
  async (count) => {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push(await expiredCharge());
    const [late = ''] = ids;
    await service.simulator.behave({ webhook: 'drop' });
    await control(`charges/${providerId(late)}/pay`);
    const cell = service.cellOf(merchant);
    const due = (text: string) => cell.sql.run({ name: 'late', text });
    await fillQueryLimit(service);
    await stepLateQueries(cell, simulator());
    expect(await statusOf(late)).toBe('expired');
    await due(`UPDATE late_query SET due_at = 'epoch'`);
    await stepLateQueries(cell, simulator());
    expect(await statusOf(late)).toBe('paid');
    expect(await service.database.admin('SELECT FROM late_query WHERE payment_id = ANY ($1)', [ids])).toEqual(
      [],
    );
  },
);

test('what the books have costs one listing of each direction, however many lines there are', async () => {
  await service.simulator.behave({ webhook: 'send' });
  for (let n = 0; n < 5; n++) await merchant.receive(1_000);
  const before = await queries();
  await turn();
  expect((await queries()) - before).toBeLessThanOrEqual(2);
});

test('a completed transfer that came back unheard is posted as a return, once', async () => {
  await service.simulator.behave({ webhook: 'send' });
  await merchant.receive(10_000);
  const { body: sent } = await merchant.transfer();
  await until(async () => (await statusOf(sent.id)) === 'completed');
  const { body } = await merchant.call('GET', `/payments/${sent.id}`);
  await service.simulator.behave({ webhook: 'drop' });
  const before = await merchant.balanceCents();
  await control(`payouts/${providerId(body.id)}/return`);
  await turn();
  expect(await merchant.balanceCents()).toBe(before + body.netAmountCents);
  await turn();
  expect(await merchant.balanceCents()).toBe(before + body.netAmountCents);
  expect(await violations(service)).toEqual([]);
});

test.each(['both', 'rtrId', 'id', 'changing'] as const)(
  'a return that its webhook reported (%s) is no warning, and what the query does not explain is one',
  async (returnForm) => {
    const warnings: string[] = [];
    const log = createLog(
      'warn',
      new Writable({
        write: (line, _encoding, done) => {
          warnings.push(String(line));
          done();
        },
      }),
    );
    const runtime = { ...service.runtime, log };
    const lacking = () => warnings.filter((line) => line.includes('that the books lack'));
    await service.simulator.behave({ webhook: 'send', returnForm });
    await merchant.receive(10_000);
    const { body: sent } = await merchant.transfer();
    await until(async () => (await statusOf(sent.id)) === 'completed');
    await turn();
    const before = await merchant.balanceCents();
    await control(`payouts/${providerId(sent.id)}/return`);
    await until(async () => (await merchant.balanceCents()) > before);
    await turn(simulator(), runtime);
    expect(lacking()).toEqual([]);
    const { body: late } = await merchant.transfer();
    await until(async () => (await statusOf(late.id)) === 'completed');
    await service.simulator.behave({ webhook: 'drop', returnForm });
    await control(`payouts/${providerId(late.id)}/return`);
    // The statement has it and the provider's record of the payout has not: this is a warning.
    const forgetful: Provider = {
      ...simulator(),
      queryPayout: async (id) => {
        const answer = await simulator().queryPayout(id);
        return answer.outcome === 'found' ? { ...answer, report: { ...answer.report, returns: [] } } : answer;
      },
    };
    await turn(forgetful, { ...runtime, providers: new Map([['simulator', forgetful]]) });
    expect(lacking()).toHaveLength(1);
    expect(lacking()[0]).toContain(late.id);
    await turn(simulator(), runtime);
    expect(lacking()).toHaveLength(1);
    await service.simulator.behave({});
  },
);

test('one process at a time reads, and not before it is due', async () => {
  const provider = simulator();
  await turn();
  const before = await queries();
  await Promise.all([stepStatement(service.runtime, provider), stepStatement(service.runtime, provider)]);
  expect(await queries()).toBe(before);
});

test('a busy statement is read in parts, in turns without a pause, and what was late by the next pass', async () => {
  const { sql, clock } = service.runtime;
  const id = await expiredCharge();
  await service.simulator.behave({ webhook: 'drop' });
  await control(`charges/${providerId(id)}/pay`);
  // The limit gives ten listings at one moment.
  const now = clock.now();
  const runtime = { ...service.runtime, clock: { ...clock, now: () => now } };
  const readFrom = now - 20 * 60_000;
  await sql.run(
    { name: 'place', text: 'UPDATE connection SET statement_read_to = $1, statement_pass_at = NULL' },
    [new Date(readFrom).toISOString()],
  );
  // A line a second, of which a listing has a hundred.
  const read: ListWindow[] = [];
  let listings = 0;
  const busy: Provider = {
    ...simulator(),
    statement: async (window) => {
      listings++;
      const parts = Math.ceil((1.25 * (window.toMs - window.fromMs)) / 100_000);
      if (parts > 1) return { outcome: 'listed', reports: [], unread: [], complete: false, parts };
      read.push(window);
      return simulator().statement(window);
    },
  };
  const dueInMs = async (): Promise<number> => {
    const text = `SELECT due_at AS "dueAt" FROM job WHERE what = 'statement'`;
    return ((await sql.run<{ dueAt: number }>({ name: 'due at', text }))[0]?.dueAt ?? 0) - now;
  };
  await turn(busy, runtime);
  expect([listings, await statusOf(id), await dueInMs()]).toEqual([10, 'expired', 0]);
  await turn(busy, runtime);
  expect([listings, await statusOf(id), await dueInMs()]).toEqual([17, 'paid', 10 * 60_000]);
  expect(read.map(({ fromMs }) => fromMs)).toEqual([readFrom, ...read.map(({ toMs }) => toMs).slice(0, -1)]);
  expect(read.at(-1)?.toMs).toBe(now);
  read.length = 0;
  await turn(busy, runtime);
  expect(read[0]?.fromMs).toBe(now - 10 * 60_000);
});

test('a provider that does not answer is read again from the same place', async () => {
  const id = await expiredCharge();
  await service.simulator.behave({ webhook: 'drop', query: 'error-500' });
  await control(`charges/${providerId(id)}/pay`);
  await turn();
  expect(await statusOf(id)).toBe('expired');
  await service.simulator.behave({ webhook: 'drop' });
  await turn();
  expect(await statusOf(id)).toBe('paid');
});

describe('a line that the provider cannot answer', () => {
  /** The provider answers for every charge but this one. */
  const without = (id: string): Provider => ({
    ...simulator(),
    queryCharge: async (txid, requestedAt) =>
      txid === providerId(id)
        ? { outcome: 'unclear', cause: 'server', detail: '500 erro_aplicacao', retryAfterMs: null }
        : simulator().queryCharge(txid, requestedAt),
  });
  const linesDue = () =>
    service.runtime.sql.run({
      name: 'lines due',
      text: `UPDATE statement_line SET next_at = 'epoch'`,
    });
  const readTo = async (): Promise<number> =>
    (
      await service.runtime.sql.run<{ at: number }>({
        name: 'read to',
        text: 'SELECT statement_read_to AS at FROM connection',
      })
    )[0]?.at ?? 0;

  async function paidUnheard(): Promise<string> {
    await service.simulator.behave({ webhook: 'drop' });
    const id = await expiredCharge();
    await control(`charges/${providerId(id)}/pay`);
    return id;
  }

  test('does not keep the money of others from being found, and is found later itself', async () => {
    const [stuck, other] = [await paidUnheard(), await paidUnheard()];
    const before = await readTo();
    await turn(without(stuck));
    expect([await statusOf(stuck), await statusOf(other)]).toEqual(['expired', 'paid']);
    expect(await readTo()).toBeGreaterThanOrEqual(before);
    expect(await listOpenLines(service.runtime)).toMatchObject([
      {
        connection: 'simulator',
        kind: 'received',
        amountCents: 700,
        providerId: providerId(stuck),
        tries: 1,
        problem: 'the provider does not answer: 500 erro_aplicacao',
      },
    ]);
    await linesDue();
    await stepStatementLines(service.runtime, without(stuck));
    expect(await listOpenLines(service.runtime)).toMatchObject([{ tries: 2 }]);
    // Not before its time.
    await stepStatementLines(service.runtime, simulator());
    expect(await statusOf(stuck)).toBe('expired');
    await linesDue();
    await stepStatementLines(service.runtime, simulator());
    expect(await statusOf(stuck)).toBe('paid');
    expect(await listOpenLines(service.runtime)).toEqual([]);
    expect(await violations(service)).toEqual([]);
  });

  test('waits untouched while the shared limit has no query left', async () => {
    const stuck = await paidUnheard();
    await turn(without(stuck));
    await linesDue();
    await service.runtime.sql.run({
      name: 'all slots taken',
      text: `UPDATE query_slot SET lease_until = now() + interval '9 seconds'`,
    });
    const runtime = { ...service.runtime, clock: { ...service.runtime.clock, sleep: async () => {} } };
    let ms = 0;
    runtime.clock.monotonicMs = () => (ms += 1_000);
    await stepStatementLines(runtime, simulator());
    expect(await listOpenLines(service.runtime)).toMatchObject([{ tries: 1 }]);
    await service.runtime.sql.run({
      name: 'all slots free',
      text: `UPDATE query_slot SET lease_until = 'epoch'`,
    });
    await turn();
    expect(await statusOf(stuck)).toBe('paid');
  });

  test('keeps its place beside a return of another Pix with the same id', async () => {
    const before = await listOpenLines(service.runtime);
    const line = { id: '1', at: Date.now(), kind: 'debited', amountCents: 100, providerId: null } as const;
    for (const n of [1, 2])
      await setAside(
        service.runtime,
        'simulator',
        { ...line, rtrId: `D9999999920261122000000000000000${n}`, endToEnd: `E${n}` },
        'the provider does not answer',
      );
    const added = (await listOpenLines(service.runtime)).slice(before.length);
    expect(added.map(({ endToEnd }) => endToEnd)).toEqual(['E1', 'E2']);
    for (const one of added)
      await dismissLine({ ...service.runtime, actor: 'tester' }, 'simulator', one, 'made by this test');
  });

  test('is dismissed by a person, with a reason, once', async () => {
    const [line] = await listOpenLines(service.runtime);
    if (!line) throw new Error('no line');
    const dismiss = () =>
      dismissLine({ ...service.runtime, actor: 'tester' }, line.connection, line, 'posted by hand');
    await dismiss();
    expect(await listOpenLines(service.runtime)).toEqual([]);
    await expect(dismiss()).rejects.toThrow('no such line');
    const audit = await service.database.admin(
      `SELECT reason FROM audit WHERE action = 'statement_line.dismiss' AND subject = $1`,
      [line.id],
    );
    expect(audit).toEqual([{ reason: 'posted by hand' }]);
  });
});

describe('what cannot be read', () => {
  const kept = async () =>
    (await listUnread(service.runtime)).map(({ kind, endToEnd, providerId: id }) => ({ kind, endToEnd, id }));
  const dueNow = (what: 'next_at' | 'incident_due_at') =>
    service.runtime.sql.run({ name: `unread ${what}`, text: `UPDATE unread_item SET ${what} = 'epoch'` });
  const step = async () => {
    await fillQueryLimit(service);
    await stepUnread(service.runtime, simulator());
  };
  const incidents = async () =>
    (await listIncidents(service.runtime, null)).filter(({ kind }) => kind === 'unread');

  test('An item of the statement that cannot be read keeps no other from being posted, and is one incident until it can be read', async () => {
    await service.simulator.behave({ webhook: 'drop' });
    const [one, other] = [await expiredCharge(), await expiredCharge()];
    for (const id of [one, other]) await control(`charges/${providerId(id)}/pay`);
    await service.simulator.behave({ webhook: 'drop', lists: 'odd-item' });
    await turn();
    expect([await statusOf(one), await statusOf(other)]).toContain('paid');
    const first = await kept();
    expect(first.filter(({ kind }) => kind === 'received')).toHaveLength(1);
    await turn();
    expect(await kept()).toEqual(first);
    await step();
    expect(await incidents()).toEqual([]);
    await dueNow('incident_due_at');
    await step();
    await step();
    const open = await incidents();
    expect(open.map(({ state, detail }) => [state, (detail as { items: string }).items]).toSorted()).toEqual(
      [...new Set(first.map(({ kind }) => ['open', kind].join()))].map((text) => text.split(',')).toSorted(),
    );
    await service.simulator.behave({ webhook: 'drop' });
    await turn();
    expect(await kept()).toEqual([]);
    expect([await statusOf(one), await statusOf(other)]).toEqual(['paid', 'paid']);
    await step();
    expect(
      (await incidents()).map(({ state, resolution }) => [state, resolution?.action, resolution?.actor]),
    ).toEqual(open.map(() => ['resolved', 'none', 'vintem']));
    expect(await violations(service)).toEqual([]);
  });

  test('A paid charge whose Pix can be read in no answer is kept, asked for again, and paid once one can be read', async () => {
    await service.simulator.behave({});
    const { body } = await merchant.charge({ amountCents: 9_900 });
    await service.simulator.behave({ amounts: 'unreadable' });
    await control(`charges/${providerId(body.id)}/pay`);
    await until(async () =>
      (await kept()).some(({ kind, id }) => kind === 'delivery' && id === providerId(body.id)),
    );
    await dueNow('next_at');
    await step();
    expect(await statusOf(body.id)).toBe('pending');
    await dueNow('incident_due_at');
    await step();
    expect((await incidents()).filter(({ state }) => state === 'open').length).toBeGreaterThan(0);
    await service.simulator.behave({ amounts: 'short' });
    await until(async () => (await statusOf(body.id)) === 'paid');
    await turn();
    await dueNow('next_at');
    await until(async () => {
      await step();
      return (await kept()).length === 0;
    });
    await step();
    expect((await incidents()).filter(({ state }) => state === 'open')).toEqual([]);
    await service.simulator.behave({});
    expect(await violations(service)).toEqual([]);
  });

  test('A second of the statement with more than can be read is kept for a person', async () => {
    const crowded: Provider = {
      ...simulator(),
      statement: async () => ({ outcome: 'listed', reports: [], unread: [], complete: false, parts: 2 }),
    };
    const now = service.runtime.clock.now();
    await service.runtime.sql.run(
      { name: 'a second', text: 'UPDATE connection SET statement_read_to = $1, statement_pass_at = $2' },
      [new Date(now - 1_000).toISOString(), new Date(now).toISOString()],
    );
    await turn(crowded);
    const [span] = await listUnread(service.runtime);
    expect(span).toMatchObject({ kind: 'span', reference: new Date(now - 1_000).toISOString() });
    await dismissUnread({ ...service.runtime, actor: 'tester' }, span?.id ?? '', 'looked at by hand');
    expect(await listUnread(service.runtime)).toEqual([]);
  });

  test('An item is shown to a person as it came, and what a person dismissed is not kept anew', async () => {
    const item = {
      kind: 'delivery',
      name: 'E1',
      providerId: null,
      endToEnd: 'E1',
      body: { valor: 'R$ 1' },
    } as const;
    await keepUnread(service.runtime, 'simulator', [item]);
    const [row] = await listUnread(service.runtime);
    expect(await showUnread(service.runtime, row?.id ?? '')).toBe('{"valor":"R$ 1"}');
    const operator = { ...service.runtime, actor: 'tester' };
    await dismissUnread(operator, row?.id ?? '', 'looked at by hand');
    await keepUnread(service.runtime, 'simulator', [item]);
    expect(await listUnread(service.runtime)).toEqual([]);
    await expect(dismissUnread(operator, row?.id ?? '', 'again')).rejects.toThrow('no such item');
    await service.runtime.sql.run({
      name: 'long ago',
      text: `UPDATE unread_item SET seen_at = now() - interval '91 days'`,
    });
    await stepUnreadPruning(service.runtime);
    expect(await service.database.admin('SELECT FROM unread_item')).toEqual([]);
  });
});

describe('the report of a closed day', () => {
  const moveTo = (day: string) =>
    service.runtime.sql.run(
      {
        name: 'report day',
        text: 'UPDATE connection SET report_day = $1::date, report_id = NULL, report_since = NULL',
      },
      [day],
    );
  const step = async (provider: Provider) => {
    await service.runtime.sql.run({
      name: 'report due',
      text: `UPDATE job SET due_at = 'epoch' WHERE what = 'day_report'`,
    });
    await fillQueryLimit(service);
    await stepDayReport(service.runtime, provider);
  };
  const place = async () =>
    (
      await service.runtime.sql.run<{ day: string; id: string | null }>({
        name: 'report place',
        text: `SELECT to_char(report_day, 'YYYY-MM-DD') AS day, report_id AS id FROM connection`,
      })
    )[0];

  test('names a return of an older Pix, which is then posted once', async () => {
    await service.simulator.behave({ webhook: 'send' });
    await merchant.receive(10_000);
    const { body: sent } = await merchant.transfer();
    await until(async () => (await statusOf(sent.id)) === 'completed');
    await service.simulator.behave({ webhook: 'drop' });
    const { body: back } = await control(`payouts/${providerId(sent.id)}/return`);
    const { body } = await merchant.call('GET', `/payments/${sent.id}`);
    const [pix] = await service.database.admin<{ id: string }>(
      'SELECT end_to_end AS id FROM payment WHERE id = $1',
      [sent.id],
    );
    const before = await merchant.balanceCents();
    const requested: string[] = [];
    const answers: DayReportOutcome[] = [
      { outcome: 'pending' },
      { outcome: 'notFound' },
      {
        outcome: 'ready',
        returns: [
          { id: back.rtrId, rtrId: back.rtrId, endToEnd: pix?.id ?? null, amountCents: back.amountCents },
          {
            id: 'D99999999202611200000unknownpix',
            rtrId: 'D99999999202611200000unknownpix',
            endToEnd: 'E99999999202611200000unknownpix',
            amountCents: 5,
          },
        ],
        unreadable: 1,
      },
    ];
    const provider: Provider = {
      ...simulator(),
      requestDayReport: async (day) => {
        requested.push(day);
        return { outcome: 'requested', reportId: `r${requested.length}` };
      },
      readDayReport: async () => answers.shift() ?? { outcome: 'pending' },
    };
    await moveTo('2026-11-01');
    const places = [];
    for (let n = 0; n < 5; n++) {
      await step(provider);
      places.push(await place());
    }
    expect(places).toEqual([
      { day: '2026-11-01', id: 'r1' },
      { day: '2026-11-01', id: 'r1' },
      { day: '2026-11-01', id: null },
      { day: '2026-11-01', id: 'r2' },
      { day: '2026-11-02', id: null },
    ]);
    expect(requested).toEqual(['2026-11-01', '2026-11-01']);
    // Lines that were not looked up yet are no concern of operators.
    expect(await listOpenLines(service.runtime)).toEqual([]);
    await stepStatementLines(service.runtime, provider);
    expect(await merchant.balanceCents()).toBe(before + body.netAmountCents);
    const open = await listOpenLines(service.runtime);
    expect(open.map(({ problem }) => problem).sort()).toEqual([
      'the provider does not know this Pix',
      'there is no end-to-end id to query',
    ]);
    await service.runtime.sql.run({ name: 'no lines', text: 'DELETE FROM statement_line' });
    expect(await violations(service)).toEqual([]);
  });

  test('that never comes is set aside after a day of asking, and the next day is read', async () => {
    await moveTo('2026-11-01');
    const start = Date.parse('2026-11-21T12:00:00Z');
    let hours = 0;
    const clock = { ...service.runtime.clock, now: () => start + hours * 3_600_000 };
    const requested: string[] = [];
    const provider: Provider = {
      ...simulator(),
      requestDayReport: async (day) => {
        requested.push(`${day} ${hours}`);
        return { outcome: 'requested', reportId: `r${hours}` };
      },
      readDayReport: async () => ({ outcome: 'pending' }),
    };
    const due = { name: 'report due', text: `UPDATE job SET due_at = 'epoch' WHERE what = 'day_report'` };
    for (; hours <= 24; hours++) {
      await service.runtime.sql.run(due);
      await fillQueryLimit(service);
      await stepDayReport({ ...service.runtime, clock }, provider);
    }
    expect(requested.slice(0, 3)).toEqual(['2026-11-01 0', '2026-11-01 2', '2026-11-01 4']);
    expect(await place()).toEqual({ day: '2026-11-02', id: null });
    expect(await listOpenLines(service.runtime)).toMatchObject([
      { id: '2026-11-01: no report', problem: 'it was not ready in a day', endToEnd: null },
    ]);
    await stepStatementLines({ ...service.runtime, clock }, provider);
    expect(await listOpenLines(service.runtime)).toHaveLength(1);
    await service.runtime.sql.run({ name: 'no lines', text: 'DELETE FROM statement_line' });
  });

  test('is requested when its day has been over for an hour', async () => {
    const noon = Date.parse('2026-11-21T12:00:00Z');
    const runtime = { ...service.runtime, clock: { ...service.runtime.clock, now: () => noon } };
    await moveTo('2026-11-21');
    await service.runtime.sql.run({
      name: 'report due alone',
      text: `UPDATE job SET due_at = 'epoch' WHERE what = 'day_report'`,
    });
    const never = async () => {
      throw new Error('too early');
    };
    await stepDayReport(runtime, { ...simulator(), requestDayReport: never });
    const [due] = await service.runtime.sql.run<{ at: number }>({
      name: 'report due at',
      text: `SELECT due_at AS at FROM job WHERE what = 'day_report'`,
    });
    expect(due?.at).toBe(Date.parse('2026-11-22T04:00:00Z'));
  });

  test('that cannot be read is tried again, and stops nothing', async () => {
    await moveTo('2026-11-01');
    await step({
      ...simulator(),
      requestDayReport: async () => ({
        outcome: 'unclear',
        cause: 'unknownRefusal',
        detail: '403 insufficient_scope',
        retryAfterMs: null,
      }),
    });
    expect(await place()).toEqual({ day: '2026-11-01', id: null });
    const id = await expiredCharge();
    await control(`charges/${providerId(id)}/pay`);
    await turn();
    expect(await statusOf(id)).toBe('paid');
  });
});

test('after a restore nothing is read until everything has been reconciled', async () => {
  await service.runtime.sql.tx((tx) => pauseAfterRestore(tx, service.runtime.clock.now()));
  const before = await queries();
  await turn();
  expect(await queries()).toBe(before);
  await reconcile(
    service.runtime,
    { ...service.runtime, actor: 'tester' },
    { accountId: null, sinceMs: null },
  );
  const reconciled = await queries();
  await turn();
  expect(await queries()).toBeGreaterThanOrEqual(reconciled);
});
