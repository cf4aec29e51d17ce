import { addCells } from '@vintem/testkit/cells.ts';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import { verifiedCell } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyOutcome } from '../../src/flow/apply.ts';
import { postUnmatched } from '../../src/flow/unmatched.ts';
import type { Runtime } from '../../src/main/runtime.ts';
import type { Action } from '../../src/operate/incidents/endings.ts';
import { listIncidents, resolveIncident } from '../../src/operate/incidents/incident.ts';
import { buildOwedCredit, stepOwedCredits } from '../../src/operate/incidents/owed-credits.ts';
import { verifyCells } from '../../src/operate/verify/verify.ts';
import type { Operator } from '../../src/store/operator.ts';
import { findOwedCredits, noteCredited, type Resolution } from '../../src/store/rows/incidents.sql.ts';

/** Money that came for a payment which a restore has lost stands in the first cell: its account may be in another one. */

let service: Service;
let cells: readonly Runtime[];
let merchants: Merchant[];
beforeAll(async () => {
  service = await openService({ worker: false });
  cells = await addCells(service, 2);
  merchants = await Promise.all(cells.map((cell) => service.newMerchant(cell)));
});
afterAll(() => service?.close());

const operator = (): Operator => ({
  ...service.runtime,
  actor: 'tester',
  everyCell: cells.map(({ sql }) => sql),
});
const soon = (): number => service.runtime.clock.monotonicMs() + 15_000;
const faults = async () =>
  (await Promise.all(cells.map((cell) => verifiedCell(cell)))).flatMap(({ checks }) =>
    checks.filter(({ ok }) => !ok),
  );

describe('money of the first cell whose id names an account of another one', () => {
  const named = async (merchant: Merchant, amountCents: number, connection = 'simulator') => {
    const requestKey = crypto.randomUUID();
    const { body: lost } = await merchant.charge({ amountCents, requestKey });
    const { cell } = service.cellOf(merchant);
    await service.database.admin(`DELETE FROM ${cell}.intent WHERE payment_id = $1`, [lost.id]);
    await service.database.admin(`DELETE FROM ${cell}.payment WHERE id = $1`, [lost.id]);
    const pix = `E${lost.id.replaceAll('-', '').slice(0, 31)}`;
    const came = {
      ...{ named: lost.id, pix, moved: { amountCents, at: Date.now() }, returns: [] },
      ...{ sign: 1 as const, isOwn: false },
    };
    await postUnmatched(service.runtime, connection, came, true);
    const incident = (await listIncidents(service.runtime, null)).find(
      ({ detail }) => (detail as { named?: string }).named === lost.id,
    );
    return { id: incident?.id ?? '', paymentId: lost.id, requestKey, pix };
  };
  const decide = (id: string, action: Action) =>
    resolveIncident(operator(), id, { action, reason: 'its id names the account' });
  const creditsOf = (merchant: Merchant, pix: string) =>
    service.database.admin<{ subject: string }>(
      `SELECT subject FROM ${service.cellOf(merchant).cell}.journal WHERE account_id = $1 AND reference = $2`,
      [merchant.ownerId, pix],
    );
  const resolutionOf = async (id: string) =>
    (
      await service.database.admin<{ resolution: Resolution }>(
        'SELECT resolution FROM incident WHERE id = $1',
        [id],
      )
    )[0]?.resolution;
  const given = async () => {
    const { checks } = await verifyCells(cells, service.runtime.clock, {
      ...{ accountId: null, full: true },
      idOf: () => '',
    });
    return checks.filter(({ number, ok }) => number === 79 && !ok).flatMap(({ violations }) => violations);
  };

  test('leaves suspense with the decision, and the account has it once, whichever step is repeated', async () => {
    const merchant = merchants[1] as Merchant;
    const before = await merchant.balanceCents();
    const { id, paymentId, pix } = await named(merchant, 7_000);
    expect(await decide(id, 'credit')).toMatchObject({ state: 'resolved' });
    await expect(decide(id, 'writeoff')).rejects.toThrow('resolved already');
    await expect(decide(id, 'credit')).rejects.toThrow('resolved already');
    expect(await resolutionOf(id)).toMatchObject({
      owed: { accountId: merchant.ownerId, amountCents: 7_000 },
    });
    // The process of the decision ended here.
    expect([await merchant.balanceCents(), await given()]).toEqual([before, []]);
    const [owed] = await findOwedCredits(service.runtime.sql, 1);
    const credit = () =>
      service.cellOf(merchant).till.submit(
        buildOwedCredit({
          ...{ incidentId: id, resolution: owed?.resolution as never, operationId: merchant.operationId },
          ...{ token: service.runtime.ids.uuid(), deadlineMs: soon() },
        }),
      );
    // The next one credits, and ends before it says so; two others do the rest at once.
    expect([await credit(), await credit()]).toEqual([true, false]);
    await Promise.all([stepOwedCredits(service.runtime), stepOwedCredits(service.runtime)]);
    await stepOwedCredits(service.runtime);
    expect(await merchant.balanceCents()).toBe(before + 7_000);
    expect(await creditsOf(merchant, pix)).toEqual([{ subject: paymentId }]);
    const { owed: still, credited } = (await resolutionOf(id)) ?? {};
    expect([still, credited]).toMatchObject([undefined, { pix, amountCents: 7_000 }]);
    expect([await faults(), await given()]).toEqual([[], []]);
  });

  test('is not credited a second time by the charge that the merchant’s repeat brings back, before or after', async () => {
    const merchant = merchants[2] as Merchant;
    for (const first of ['credit', 'repeat'] as const) {
      const before = await merchant.balanceCents();
      const { id, paymentId, requestKey, pix } = await named(merchant, 3_000);
      await decide(id, 'credit');
      if (first === 'credit') await stepOwedCredits(service.runtime);
      const { body } = await merchant.charge({ amountCents: 3_000, requestKey });
      expect(body.id).toBe(paymentId);
      await applyOutcome(
        service.cellOf(merchant),
        {
          ...{ accountId: merchant.ownerId, paymentId, operationId: merchant.operationId, kind: 'deposit' },
          connection: 'simulator',
          observation: {
            ...{ from: 'webhook', id: 'w', payouts: [] },
            received: [{ endToEnd: pix, amountCents: 3_000, paidAt: Date.now(), txid: null, returns: [] }],
          },
        },
        soon(),
      );
      await stepOwedCredits(service.runtime);
      expect(await merchant.balanceCents(), first).toBe(before + 3_000);
      expect(await findOwedCredits(service.runtime.sql, 1), first).toEqual([]);
    }
    expect(await given()).toEqual([]);
  });

  test('is found by verify where the other cell lacks it, and where it is owed for long', async () => {
    const merchant = merchants[1] as Merchant;
    const { id } = await named(merchant, 2_000);
    await decide(id, 'credit');
    const fault = (what: string) => [
      { accountId: merchant.ownerId, fault: `2000 of incident ${id} are ${what}` },
    ];
    await service.database.admin(
      `UPDATE incident SET resolved_at = now() - interval '61 minutes' WHERE id = $1`,
      [id],
    );
    expect(await given()).toMatchObject(fault('still owed'));
    await noteCredited(service.runtime.sql, id);
    expect(await given()).toMatchObject(fault('not there'));
    await service.database.admin(
      `UPDATE incident SET resolution = resolution - 'credited' || jsonb_build_object('owed', resolution -> 'credited') WHERE id = $1`,
      [id],
    );
    await stepOwedCredits(service.runtime);
    expect(await given()).toEqual([]);
  });

  test('is booked under the bare id of its Pix, whatever the connection is called', async () => {
    await service.database.admin(
      `INSERT INTO connection (id, test, webhook_token, query_bucket_at) VALUES ('elsewhere', true, 'x', now())`,
    );
    const merchant = merchants[0] as Merchant;
    const { id, paymentId, pix } = await named(merchant, 1_500, 'elsewhere');
    await decide(id, 'credit');
    expect(await creditsOf(merchant, pix)).toEqual([{ subject: paymentId }]);
  });
});
