import { type Answer, mailsTo, newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setOddMoneyRule } from '../../src/operate/accounts/odd-money.ts';
import {
  type IncidentView,
  keepIncident,
  listIncidents,
  resolveIncident,
} from '../../src/operate/incidents/incident.ts';
import type { OddKind } from '../../src/store/rows/odd-money-rules.sql.ts';

/** The people of an account decide about odd money, within the rule of the operator. */

let service: Service;
let merchant: Merchant;
let ana: Tab;
let bia: Tab;

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  await newPerson(service, merchant.ownerId, 'ana@padaria.example', 'owner');
  await newPerson(service, merchant.ownerId, 'bia@padaria.example', 'finance');
  [ana, bia] = [openTab(service), openTab(service)];
  await ana.signIn('ana@padaria.example');
  await bia.signIn('bia@padaria.example');
});
afterAll(async () => {
  const wrong = await violationsOfBooks(service);
  await service?.close();
  expect(wrong).toEqual([]);
});

const operator = (of: Merchant = merchant) => ({ ...service.cellOf(of), actor: 'tester' });
const allow = (kinds: readonly OddKind[], mostCents: number, of: Merchant = merchant) =>
  setOddMoneyRule(operator(of), of.ownerId, { kinds, mostCents });
const openOf = async (of: Merchant): Promise<IncidentView[]> =>
  (await listIncidents(operator(of), of.ownerId)).filter(({ state }) => state === 'open');
const control = (path: string, body: object) => service.simulator.control('POST', `/control${path}`, body);

/** A charge of R$ 20,00 with R$ 7,00 in suspense under it. */
async function odd(
  kind: 'amount_mismatch' | 'second_payment',
  of: Merchant = merchant,
): Promise<IncidentView> {
  const charge =
    kind === 'second_payment'
      ? await of.paidCharge({ amountCents: 2_000 })
      : (await of.charge({ amountCents: 2_000 })).body.id;
  const known = new Set((await openOf(of)).map(({ id }) => id));
  await control(`/charges/${charge}/pay`, { amountCents: 700 });
  const found = async () => (await openOf(of)).find(({ id }) => !known.has(id));
  await until(async () => (await found()) !== undefined);
  return (await found()) as IncidentView;
}

const call = (tab: Tab, path: string, body?: object): Promise<Answer> =>
  tab.call(body ? 'POST' : 'GET', `/accounts/${merchant.ownerId}/odd-money${path}`, body);
const actsOf = async (
  id: string,
  tab: Tab = ana,
): Promise<{ action: string; shown: string; postings: { lines: { column: string; cents: number }[] }[] }[]> =>
  (await call(tab, `/${id}/acts`, {})).body.allowed;
const shownOf = async (id: string, action: string): Promise<string> =>
  (await actsOf(id)).find((one) => one.action === action)?.shown ?? '0'.repeat(64);
const decide = (id: string, action: string, shown: string, tab: Tab = ana): Promise<Answer> =>
  call(tab, `/${id}/decision`, { action, shown });
const waiting = async (id: string) =>
  (await call(ana, '')).body.waiting.find((one: { id: string }) => one.id === id);
const journals = async (id: string): Promise<number> =>
  Number(
    (
      await service.database.admin<{ n: string }>(
        `SELECT count(*) AS n FROM journal WHERE event IN (10, 11) AND (reference LIKE $1::text || '%' OR subject IN
          (SELECT id FROM refund WHERE request_key::text = $1::text))`,
        [id],
      )
    )[0]?.n,
  );

describe('Without a rule of the operator', () => {
  test('the money is shown with who decides, and no act is allowed', async () => {
    const { id } = await odd('second_payment');
    expect(await waiting(id)).toMatchObject({ amountCents: 700, why: 'kind' });
    expect(await actsOf(id)).toEqual([]);
    const answer = await decide(id, 'credit', '0'.repeat(64));
    expect([answer.status, answer.body.code]).toEqual([409, 'act_refused']);
    expect(await journals(id)).toBe(0);
  });
});

describe('Within the rule', () => {
  beforeAll(() => allow(['amount_mismatch', 'second_payment'], 700));

  test('a credit posts what was shown, with the person in audit and history, a security event and a mail', async () => {
    const { id, paymentId } = await odd('amount_mismatch');
    expect(await waiting(id)).toMatchObject({ why: null, paymentId });
    const acts = await actsOf(id);
    expect(acts.map(({ action }) => action)).toEqual(['credit', 'return']);
    const [credit] = acts;
    expect(credit?.postings).toMatchObject([
      { movement: 'creditFromSuspense', operationId: merchant.operationId },
    ]);
    const before = await merchant.balanceCents();
    expect((await decide(id, 'credit', credit?.shown ?? '')).status).toBe(200);
    const lines = credit?.postings[0]?.lines ?? [];
    const available = lines.find(({ column }) => column === 'available')?.cents ?? 0;
    expect(available).toBeGreaterThan(0);
    expect((await merchant.balanceCents()) - before).toBe(available);
    const [person] = await service.database.admin<{ id: string }>(
      `SELECT id FROM panel_user WHERE email = 'ana@padaria.example'`,
    );
    expect(
      await service.database.admin(
        `SELECT actor, detail->>'action' AS action FROM audit WHERE action = 'incident.resolve' AND subject = $1`,
        [id],
      ),
    ).toEqual([{ actor: `panel:${person?.id}`, action: 'credit' }]);
    const events = await ana.call('GET', `/accounts/${merchant.ownerId}/security-events`);
    expect(events.body.events).toContainEqual(
      expect.objectContaining({
        kind: 'odd_money.decided',
        detail: expect.objectContaining({ incidentId: id }),
      }),
    );
    const [mail] = (await mailsTo(service, 'ana@padaria.example')).filter((one) =>
      one.includes(paymentId ?? '-'),
    );
    expect(mail).toContain('creditar na operação');
    const detail = await ana.call('GET', `/accounts/${merchant.ownerId}/records/${paymentId}`);
    expect(detail.body.history.at(-1)).toMatchObject({ status: 'paid', cause: { name: 'Ana Prado' } });
    expect(await waiting(id)).toBeUndefined();
  });

  test('a return goes back to the payer, once', async () => {
    const { id, paymentId } = await odd('second_payment');
    const shown = await shownOf(id, 'return');
    expect((await decide(id, 'return', shown)).status).toBe(200);
    await until(async () => {
      const { body } = await merchant.call('GET', `/payments/${paymentId}/refunds`);
      return body.refunds[0]?.status === 'completed';
    }, 60_000);
    expect((await decide(id, 'return', shown)).body.code).toBe('act_refused');
  });

  test('of two people at once one decides, and the money is posted once', async () => {
    const { id } = await odd('second_payment');
    const acts = await actsOf(id);
    const [credit, back] = acts.map(({ shown }) => shown);
    const answers = await Promise.all([
      decide(id, 'credit', credit ?? '', ana),
      decide(id, 'return', back ?? '', bia),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await journals(id)).toBe(1);
  });

  test('what the operator has decided meanwhile is not decided again', async () => {
    const { id } = await odd('second_payment');
    const shown = await shownOf(id, 'credit');
    await resolveIncident(operator(), id, { action: 'none', reason: 'looked at the bank statement' });
    expect((await decide(id, 'credit', shown)).body.code).toBe('act_refused');
    expect(await journals(id)).toBe(0);
  });

  test('what the operator keeps stays', async () => {
    const { id } = await odd('second_payment');
    const shown = await shownOf(id, 'credit');
    await keepIncident(operator(), id, 'a fraud is possible');
    expect(await waiting(id)).toMatchObject({ why: 'kept' });
    expect((await decide(id, 'credit', shown)).body.code).toBe('act_refused');
    expect(await journals(id)).toBe(0);
  });

  test('money that went back elsewhere since it was shown is not posted', async () => {
    const { id, paymentId, reference } = await odd('second_payment');
    const shown = await shownOf(id, 'credit');
    const endToEnd = reference.split(':').at(-1);
    const before = (await openOf(merchant)).length;
    await control(`/charges/${paymentId}/return`, { amountCents: 700, endToEnd });
    await until(async () => {
      const { body } = await call(ana, `/${id}/acts`, {});
      return body.allowed.every((one: { shown: string }) => one.shown !== shown);
    }, 60_000);
    expect(before).toBeGreaterThan(0);
    const answer = await decide(id, 'credit', shown);
    expect([answer.status, ['act_refused', 'facts_changed'].includes(answer.body.code)]).toEqual([409, true]);
    expect(await journals(id)).toBe(0);
  });

  test('another act than the one that was shown is refused', async () => {
    const { id } = await odd('second_payment');
    expect((await decide(id, 'return', await shownOf(id, 'credit'))).body.code).toBe('facts_changed');
    expect(await journals(id)).toBe(0);
  });

  test('the password is asked for again', async () => {
    const { id } = await odd('second_payment');
    const shown = await shownOf(id, 'credit');
    await service.database.admin(
      `UPDATE panel_session SET authenticated_at = now() - interval '11 minutes' WHERE user_id =
        (SELECT id FROM panel_user WHERE email = 'bia@padaria.example')`,
    );
    expect((await decide(id, 'credit', shown, bia)).body.code).toBe('reauthentication_required');
    expect(await journals(id)).toBe(0);
  });
});

describe('Outside of the rule', () => {
  test('an amount above the limit is left to the operator, also where it was lowered after the look', async () => {
    await allow(['second_payment'], 700);
    const { id } = await odd('second_payment');
    const shown = await shownOf(id, 'credit');
    await allow(['second_payment'], 699);
    expect(await waiting(id)).toMatchObject({ why: 'amount' });
    expect(await actsOf(id)).toEqual([]);
    expect((await decide(id, 'credit', shown)).body.code).toBe('act_refused');
    expect(await journals(id)).toBe(0);
  });

  test('a kind that the rule does not name is left to the operator', async () => {
    await allow(['amount_mismatch'], 700);
    const { id } = await odd('second_payment');
    expect(await waiting(id)).toMatchObject({ why: 'kind' });
    expect(await actsOf(id)).toEqual([]);
  });

  test('the money of another account is not found', async () => {
    const other = await service.newMerchant();
    await allow(['second_payment'], 700, other);
    await allow(['second_payment'], 700);
    const { id } = await odd('second_payment', other);
    expect((await call(ana, `/${id}/acts`, {})).status).toBe(404);
    expect((await decide(id, 'credit', '0'.repeat(64))).status).toBe(404);
    expect(await waiting(id)).toBeUndefined();
  });

  test('acts that are a loss or a gain of the installation are no part of it', async () => {
    const { id } = await odd('second_payment');
    expect((await decide(id, 'writeoff', '0'.repeat(64))).status).toBe(400);
  });
});
