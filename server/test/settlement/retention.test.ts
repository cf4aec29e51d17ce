import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stepRetention } from '../../src/operate/retention.ts';
import { insertDeliveries, markApplied } from '../../src/store/rows/inbound.sql.ts';

let service: Service;

beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service.close());

const dayMs = 86_400_000;

/** A delivery that came so many days ago. */
async function deliver(daysAgo: number, applied: boolean, authentic = true): Promise<void> {
  const { ids, clock } = service.runtime;
  const at = clock.now() - daysAgo * dayMs;
  const time = at.toString(16).padStart(12, '0');
  const id = `${time.slice(0, 8)}-${time.slice(8)}${ids.uuid().slice(13)}`;
  const row = { id, connection: 'simulator', receivedAt: at, body: Buffer.from('x'), authentic };
  await insertDeliveries(service.runtime.sql, [{ ...row, tries: 0, nextAt: at, line: null }]);
  if (applied) await markApplied(service.runtime.sql, [id], at);
}

test('raw deliveries go after 90 days, in small steps, unless they wait to be applied; money is never touched', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(1_000);
  const money = () =>
    service.database.admin(
      'SELECT (SELECT count(*) FROM payment) AS payments, (SELECT count(*) FROM journal) AS journals, (SELECT count(*) FROM api_key) AS keys',
    );
  const before = await money();
  await service.database.admin('DELETE FROM inbound');
  for (let each = 0; each < 510; each++) await deliver(91, true);
  await deliver(91, false);
  // A forged one is never applied: it goes as well.
  await deliver(91, false, false);
  await deliver(89, true);
  expect(await stepRetention(service.runtime)).toBe(true);
  expect(await stepRetention(service.runtime)).toBe(false);
  const left = await service.database.admin('SELECT applied_at IS NULL AS waiting FROM inbound ORDER BY id');
  expect(left).toEqual([{ waiting: true }, { waiting: false }]);
  expect(await money()).toEqual(before);
});
