import { randomUUID } from 'node:crypto';
import { type Desk, newOperator, shellOf } from '@vintem/testkit/console.ts';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { suspendOperator } from '../../src/console/people/operators.ts';
import { setOddMoneyRule } from '../../src/operate/accounts/odd-money.ts';
import { operatorRoles } from '../../src/operate/acts.ts';

/** The rule of odd money in the console: which roles change it, what one changes alone, and what takes two. */

let service: Service;
let shop: Merchant;
let ana: Desk;
let rui: Desk;

beforeAll(async () => {
  service = await openService({ worker: false, env: { OPERATOR_ALONE_CENTS: '5000' } });
  [ana, rui] = [await newOperator(service, 'administrator'), await newOperator(service, 'administrator')];
});
afterAll(() => service?.close());
beforeEach(async () => {
  shop = await service.newMerchant();
});

interface Wished {
  kinds: readonly string[];
  mostCents: number;
}

const reason = 'pedido do lojista';
const path = () => `/accounts/${shop.ownerId}/odd-money`;
const look = (desk: Desk, wished: Wished) => desk.call('POST', `${path()}/acts`, wished);
const change = (desk: Desk, wished: Wished, shown: string) =>
  desk.call('POST', path(), { ...wished, reason, shown });
/** Asks for what it has looked at. */
const asked = async (desk: Desk, wished: Wished) =>
  change(desk, wished, (await look(desk, wished)).body.shown);
const ruleNow = async () => {
  const { oddMoneyKinds, oddMoneyMostCents } = (await ana.call('GET', `/accounts/${shop.ownerId}`)).body;
  return [oddMoneyKinds, oddMoneyMostCents];
};
const requestOf = async (desk: Desk, id: string) =>
  (await desk.call('GET', '/requests')).body.requests.find((one: { id: string }) => one.id === id);
const agree = async (desk: Desk, id: string) =>
  desk.call('POST', `/requests/${id}/agreement`, { shown: (await requestOf(ana, id)).shown });
const kept = () =>
  service.database.admin(
    `SELECT actor, reason, detail FROM audit WHERE action = 'account.odd_money' AND subject = $1 ORDER BY at`,
    [shop.ownerId],
  );
const atShell = (wished: { kinds: ['second_payment'] | []; mostCents: number }) =>
  setOddMoneyRule({ ...service.cellOf(shop), actor: 'root' }, shop.ownerId, wished);

const small = { kinds: ['second_payment'], mostCents: 5_000 };
const large = { kinds: ['amount_mismatch', 'second_payment'], mostCents: 5_001 };
const none = { kinds: [], mostCents: 0 };

describe('The rule of odd money', () => {
  test('is seen by every role, and shown and changed by administrators alone', async () => {
    for (const role of operatorRoles) {
      const desk = await newOperator(service, role);
      const seen = await desk.call('GET', `/accounts/${shop.ownerId}`);
      const statuses = [(await look(desk, small)).status, (await change(desk, small, 'a'.repeat(64))).status];
      // Nothing is done under a hash that was not shown.
      const wanted = role === 'administrator' ? [200, 409] : [403, 403];
      expect([role, seen.body.oddMoneyKinds, statuses]).toEqual([role, [], wanted]);
    }
    expect([await ruleNow(), await kept()]).toEqual([[[], 0], []]);
  });

  test('is shown before and after, and up to the threshold one person changes it as it was shown', async () => {
    const { body } = await look(ana, small);
    expect(body).toEqual({
      before: { oddMoneyKinds: [], oddMoneyMostCents: 0 },
      after: { oddMoneyKinds: ['second_payment'], oddMoneyMostCents: 5_000 },
      ...{ movedCents: 5_000, alone: true, shown: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect(await ruleNow()).toEqual([[], 0]);
    expect((await change(ana, { ...small, mostCents: 4_999 }, body.shown)).body.code).toBe('facts_changed');
    expect((await change(ana, small, body.shown)).body).toEqual({ requestId: null });
    expect(await ruleNow()).toEqual([['second_payment'], 5_000]);
    expect(await kept()).toEqual([
      {
        ...{ actor: ana.email, reason },
        detail: { before: none, after: { kinds: ['second_payment'], mostCents: 5_000 } },
      },
    ]);
  });

  test('leaves more than the threshold to the account only when another administrator agrees', async () => {
    expect((await look(ana, large)).body).toMatchObject({ movedCents: 5_001, alone: false });
    const { requestId } = (await asked(ana, large)).body;
    expect(await ruleNow()).toEqual([[], 0]);
    expect(await requestOf(rui, requestId)).toMatchObject({
      ...{ act: 'changeOddMoneyRule', movedCents: 5_001, postings: [], person: null, mayAgree: true },
      rule: {
        ownerId: shop.ownerId,
        before: { oddMoneyKinds: [], oddMoneyMostCents: 0 },
        after: { oddMoneyKinds: ['amount_mismatch', 'second_payment'], oddMoneyMostCents: 5_001 },
      },
    });
    expect((await agree(ana, requestId)).body.code).toBe('own_request');
    for (const role of operatorRoles.filter((each) => each !== 'administrator'))
      expect((await agree(await newOperator(service, role), requestId)).body.code).toBe(
        'operator_role_denied',
      );
    expect((await agree(rui, requestId)).body).toEqual({ invitation: null });
    expect(await ruleNow()).toEqual([['amount_mismatch', 'second_payment'], 5_001]);
    expect(await kept()).toMatchObject([{ actor: `${ana.email} + ${rui.email}`, reason }]);
    expect((await agree(rui, requestId)).body.code).toBe('request_closed');
  });

  test('is narrowed by one person, whatever it was, and another kind is no narrowing', async () => {
    await atShell({ kinds: ['second_payment'], mostCents: 900_000 });
    expect((await look(ana, { kinds: ['amount_mismatch'], mostCents: 6_000 })).body.alone).toBe(false);
    expect((await look(ana, { kinds: ['second_payment'], mostCents: 800_000 })).body.movedCents).toBe(0);
    expect((await asked(ana, none)).body).toEqual({ requestId: null });
    expect(await ruleNow()).toEqual([[], 0]);
  });

  test('that was changed since it was shown is not changed under another’s look, alone or by two', async () => {
    const { shown } = (await look(ana, small)).body;
    const { requestId } = (await asked(ana, large)).body;
    await atShell({ kinds: ['second_payment'], mostCents: 100 });
    expect((await change(ana, small, shown)).body.code).toBe('facts_changed');
    expect((await agree(rui, requestId)).body.code).toBe('facts_changed');
    expect(await requestOf(ana, requestId)).toMatchObject({ state: 'stale' });
    expect(await ruleNow()).toEqual([['second_payment'], 100]);
  });

  test('ends its request with the one who asked', async () => {
    const gone = await newOperator(service, 'administrator');
    const { requestId } = (await asked(gone, large)).body;
    await suspendOperator(shellOf(service), gone.email);
    expect((await agree(rui, requestId)).body.code).toBe('request_closed');
    expect(await ruleNow()).toEqual([[], 0]);
  });

  test('of no account is not found, and one that cannot be is refused', async () => {
    const elsewhere = `/accounts/${randomUUID()}/odd-money`;
    expect((await ana.call('POST', `${elsewhere}/acts`, small)).status).toBe(404);
    expect((await ana.call('POST', elsewhere, { ...small, reason, shown: 'a'.repeat(64) })).status).toBe(404);
    expect((await look(ana, { kinds: ['second_payment'], mostCents: 0 })).body.code).toBe('act_refused');
    for (const wished of [
      { kinds: ['unmatched'], mostCents: 100 },
      { kinds: ['second_payment', 'second_payment'], mostCents: 100 },
      { kinds: ['second_payment'], mostCents: 100_000_001 },
      { kinds: ['second_payment'], mostCents: 10.5 },
      { kinds: ['second_payment'], mostCents: -1 },
    ])
      expect((await look(ana, wished)).status).toBe(400);
  });
});
