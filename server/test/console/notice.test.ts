import { type Desk, newOperator, shellOf } from '@vintem/testkit/console.ts';
import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findNotice, type Notice, recentNotice, setNotice } from '../../src/operate/notice.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Sql } from '../../src/ports/sql.ts';

/** The notice of the installation in merchants' panels. */

let service: Service;
let support: Desk;
let tab: Tab;

const hourMs = 3_600_000;
const inHours = (hours: number): string => new Date(Date.now() + hours * hourMs).toISOString();
const pt = 'Manutenção hoje às 22h: <b>saques</b> param por uma hora.';
const en = 'Maintenance today at 22h: <b>withdrawals</b> stop for an hour.';
const set = (desk: Desk, fields: object = {}) =>
  desk.call('POST', '/notice', { pt, en, until: inHours(2), ...fields });
const inPanel = async () => (await tab.call('GET', '/session')).body.notice;

beforeAll(async () => {
  service = await openService({ worker: false });
  support = await newOperator(service, 'support');
  const shop = await service.newMerchant();
  await newPerson(service, shop.ownerId, 'dona@padaria.example');
  tab = openTab(service);
  expect((await tab.signIn('dona@padaria.example')).status).toBe(200);
});
afterAll(() => service?.close());
beforeEach(() => support.call('POST', '/notice/end', {}));

describe('a notice', () => {
  test('shows in the panel of every account from its beginning on, as the text that it is, and without who set it', async () => {
    expect(await inPanel()).toBe(null);
    const until = inHours(2);
    const { status, body } = await set(support, { until });
    expect({ status, ...body.notice }).toMatchObject({ status: 200, pt, en, until, setBy: support.email });
    const { setAt } = body.notice;
    expect(await inPanel()).toEqual({ pt, en, until, setAt });
    await set(support, { from: inHours(1) });
    expect(await inPanel()).toBe(null);
    expect((await support.call('GET', '/notice')).body.notice).toMatchObject({ pt, en });
  });

  test('ends before its time by a press, once', async () => {
    await set(support);
    expect(await inPanel()).not.toBe(null);
    expect((await support.call('POST', '/notice/end', {})).body).toEqual({ notice: null });
    expect(await inPanel()).toBe(null);
    expect((await support.call('POST', '/notice/end', {})).body.code).toBe('act_refused');
  });

  test('stands in the audit log whole, with who set and who ended it, in the console and at the shell', async () => {
    const administrator = await newOperator(service, 'administrator');
    await setNotice(shellOf(service), { pt, en, fromAt: null, untilAt: Date.now() + hourMs });
    await set(administrator, { pt: 'Voltamos às 23h.' });
    await administrator.call('POST', '/notice/end', {});
    const kept = await service.database.admin(
      `SELECT actor, action, detail->>'pt' AS pt FROM audit WHERE action LIKE 'notice.%' ORDER BY seq DESC LIMIT 3`,
    );
    expect(kept).toEqual([
      { actor: administrator.email, action: 'notice.end', pt: 'Voltamos às 23h.' },
      { actor: administrator.email, action: 'notice.set', pt: 'Voltamos às 23h.' },
      { actor: 'root', action: 'notice.set', pt },
    ]);
  });

  test('that is none is refused, and the one that stands stays', async () => {
    await set(support);
    const wrong = [
      { pt: 'oi' },
      { en: 'x'.repeat(281) },
      { pt: 'duas\nlinhas' },
      { pt: 'virado \u202e ao contrário' },
      { until: 'amanhã' },
      { html: '<b>' },
    ];
    for (const fields of wrong)
      expect({ fields, status: (await set(support, fields)).status }).toEqual({ fields, status: 400 });
    for (const fields of [{ until: inHours(-1) }, { from: inHours(3) }, { until: inHours(24 * 32) }])
      expect((await set(support, fields)).body.code).toBe('act_refused');
    expect(await inPanel()).toMatchObject({ pt, en });
  });

  test('is set and ended by two roles, and read by all', async () => {
    for (const role of ['risk', 'treasury', 'auditor'] as const) {
      const desk = await newOperator(service, role);
      expect((await desk.call('GET', '/notice')).status).toBe(200);
      for (const path of ['/notice', '/notice/end'])
        expect(
          (await desk.call('POST', path, path === '/notice' ? { pt, en, until: inHours(1) } : {})).status,
        ).toBe(403);
    }
    expect(await inPanel()).toBe(null);
  });
});

describe('what panels ask of the database for it', () => {
  const kept: Notice = { pt, en, fromAt: 1_000, untilAt: 60_000, setBy: 'ana', setAt: 0 };
  /** A clock that a test moves, and a table that counts who reads it. */
  const stage = (notice: Notice | undefined) => {
    const time = { now: 0, reads: 0 };
    const clock = { now: () => time.now, monotonicMs: () => time.now } as Clock;
    const run = async () => {
      time.reads += 1;
      return notice ? [notice] : [];
    };
    return { time, recent: recentNotice({ sql: { run } as unknown as Sql, clock }) };
  };

  test('is one read in ten seconds of a process, also where there is none', async () => {
    const { time, recent } = stage(undefined);
    for (let n = 0; n < 100; n++) expect(await recent.current()).toBe(null);
    expect(time.reads).toBe(1);
    time.now = 10_000;
    await recent.current();
    expect(time.reads).toBe(2);
    recent.forget();
    await recent.current();
    expect(time.reads).toBe(3);
  });

  test('begins and ends with its own times, whatever is kept of it', async () => {
    const { time, recent } = stage(kept);
    expect(await recent.current()).toBe(null);
    for (const [now, shown] of [
      [999, false],
      [1_000, true],
      [59_999, true],
      [60_000, false],
    ] as const) {
      time.now = now;
      expect({ now, shown: (await recent.current()) !== null }).toEqual({ now, shown });
    }
  });

  test('gives no notice whose time is over', async () => {
    const untilAt = Date.now() + hourMs;
    await setNotice(shellOf(service), { pt, en, fromAt: null, untilAt });
    expect(await findNotice(service.database.sql, untilAt - 1)).toMatchObject({ pt });
    expect(await findNotice(service.database.sql, untilAt)).toBe(null);
  });
});
