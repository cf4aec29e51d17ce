import { randomUUID } from 'node:crypto';
import { type Desk, newOperator, openDesk, shellOf } from '@vintem/testkit/console.ts';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { changeAsShown, type OperatorChange, shownChange } from '../../src/console/people/changes.ts';
import { grantOperator, suspendOperator } from '../../src/console/people/operators.ts';
import { recordAlone } from '../../src/console/requests/alone.ts';

/** The people of the console: each change takes two administrators, and one of them is always left. */

let service: Service;
let ana: Desk;
let rui: Desk;

beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service?.close());
beforeEach(async () => {
  await service.database.admin(`UPDATE operator_person SET suspended_at = now() WHERE suspended_at IS NULL`);
  ana = await newOperator(service, 'administrator');
  rui = await newOperator(service, 'administrator');
});

const reason = 'entrou na equipe';
const ask = async (desk: Desk, fields: object) =>
  desk.call('POST', '/operators/changes', { reason, ...fields });
const requestOf = async (desk: Desk, id: string) =>
  (await desk.call('GET', '/requests')).body.requests.find((one: { id: string }) => one.id === id);
/** Agrees to what the request shows. */
const agree = async (desk: Desk, id: string) => {
  const { requests } = (await desk.call('GET', '/requests')).body;
  const found = requests.find((one: { id: string }) => one.id === id);
  return desk.call('POST', `/requests/${id}/agreement`, { shown: found?.shown ?? 'a'.repeat(64) });
};
const personOf = async (desk: Desk, email: string) =>
  (await desk.call('GET', '/operators')).body.operators.find((one: { email: string }) => one.email === email);
const idOf = async (desk: Desk): Promise<string> => (await personOf(ana, desk.email))?.id ?? '';

describe('a change of operators', () => {
  test('is asked for by one administrator and done when another one agrees, who hands the invitation over', async () => {
    const wanted = {
      change: 'create',
      email: `Novo.${randomUUID()}@vintem.example`,
      name: 'Nova Pessoa',
      role: 'risk',
    };
    const email = wanted.email.toLowerCase();
    const { requestId } = (await ask(ana, wanted)).body;
    expect(await personOf(ana, email)).toBe(undefined);
    expect((await agree(ana, requestId)).body.code).toBe('own_request');
    const risk = await newOperator(service, 'risk');
    expect((await agree(risk, requestId)).body.code).toBe('operator_role_denied');
    // Who is suspended, and why, is for those who see the list of people.
    expect(await requestOf(risk, requestId)).toBe(undefined);
    expect(await requestOf(rui, requestId)).toMatchObject({
      ...{ act: 'changeOperators', postings: [], movedCents: 0, reason, mayAgree: true },
      person: { change: 'create', email, name: 'Nova Pessoa', role: 'risk', roleNow: null, stateNow: null },
    });
    const { invitation } = (await agree(rui, requestId)).body;
    expect(invitation).toMatchObject({ email, mailed: false });
    const token = new URL(invitation.link).hash.slice(1);
    const invited = await openDesk(service).call('POST', '/enrolment/look', { token });
    expect(invited.body).toEqual({ email, name: 'Nova Pessoa', role: 'risk' });
    const kept = await service.database.admin(
      `SELECT actor FROM audit WHERE action = 'operator.create' AND detail->>'email' = $1`,
      [email],
    );
    expect(kept).toEqual([{ actor: `${ana.email} + ${rui.email}` }]);
    // The link stands nowhere but in that answer.
    expect(JSON.stringify(await service.database.admin('SELECT * FROM audit'))).not.toContain(token);
    expect(JSON.stringify((await rui.call('GET', '/requests')).body)).not.toContain(token);
  });

  test('suspends, gives a role and resets, each from the next call of the person on', async () => {
    const desk = await newOperator(service, 'support');
    const both = async (fields: object) =>
      agree(rui, (await ask(ana, { email: desk.email, ...fields })).body.requestId);
    expect((await both({ change: 'grant', role: 'auditor' })).body).toEqual({ invitation: null });
    expect((await desk.call('GET', '/audit')).status).toBe(200);
    expect((await both({ change: 'suspend' })).status).toBe(200);
    expect((await desk.call('GET', '/session')).status).toBe(401);
    expect((await both({ change: 'grant', role: 'support' })).status).toBe(200);
    const { invitation } = (await both({ change: 'reset_factor' })).body;
    expect(invitation.link).toContain('/operator/convite#');
    expect(await personOf(ana, desk.email)).toMatchObject({
      role: 'support',
      enrolledAt: null,
      suspendedAt: null,
    });
  });

  test('that cannot be done is refused when it is asked for, and nothing is recorded', async () => {
    const before = await service.database.admin('SELECT count(*) FROM operator_request');
    const gone = await newOperator(service, 'risk');
    await suspendOperator(shellOf(service), gone.email);
    const refused: object[] = [
      { change: 'create', email: ana.email, name: 'Outra Ana', role: 'risk' },
      { change: 'create', email: 'sem.papel@vintem.example', name: 'Sem Papel' },
      { change: 'create', email: 'sem.nome@vintem.example', role: 'risk' },
      { change: 'create', email: 'nem arroba', name: 'Ninguém', role: 'risk' },
      { change: 'grant', email: ana.email },
      { change: 'suspend', email: 'ninguem@vintem.example' },
      { change: 'suspend', email: gone.email },
      { change: 'reset_factor', email: gone.email },
    ];
    for (const fields of refused)
      expect({ fields, code: (await ask(ana, fields)).body.code }).toEqual({ fields, code: 'act_refused' });
    const unreadable = [
      { change: 'create', email: 'x@vintem.example', name: 'Xis', role: 'root' },
      { change: 'remove', email: ana.email },
      { change: 'suspend', email: ana.email, reason: 'x' },
      { change: 'create', email: 'x@vintem.example', name: 'a\u0000b', role: 'risk' },
    ];
    for (const fields of unreadable) expect((await ask(ana, fields)).status).toBe(400);
    expect(await service.database.admin('SELECT count(*) FROM operator_request')).toEqual(before);
  });

  test('is about the person as they were: a change of them since then ends the request', async () => {
    const desk = await newOperator(service, 'support');
    const { requestId } = (await ask(ana, { change: 'grant', email: desk.email, role: 'risk' })).body;
    await grantOperator(shellOf(service), desk.email, 'auditor');
    expect((await agree(rui, requestId)).body.code).toBe('facts_changed');
    expect(await personOf(ana, desk.email)).toMatchObject({ role: 'auditor' });
    expect(await requestOf(ana, requestId)).toMatchObject({ state: 'stale' });
  });

  test('shows who the person is now, and another enrolment makes it another change', async () => {
    const eva = await newOperator(service, 'support');
    await suspendOperator(shellOf(service), eva.email);
    const { requestId } = (await ask(ana, { change: 'grant', email: eva.email, role: 'risk' })).body;
    expect((await requestOf(rui, requestId)).person).toMatchObject({
      roleNow: 'support',
      stateNow: 'suspended',
    });
    await service.database.admin(
      `UPDATE operator_person SET enrolled_at = enrolled_at + interval '1 second' WHERE email = $1`,
      [eva.email],
    );
    expect((await agree(rui, requestId)).status).toBe(409);
  });

  test('that one person made at the shell is seen by another one than the person whom it concerns', async () => {
    const wanted = { change: 'grant', email: rui.email, role: 'administrator' };
    const act = {
      act: 'changeOperators' as const,
      subject: rui.email,
      body: wanted,
      postings: [],
      movedCents: 0,
    };
    const shown = 'b'.repeat(64);
    const id = await recordAlone(shellOf(service), { ...act, shown, reason });
    const see = (desk: Desk) => desk.call('POST', `/requests/${id}/sight`, { shown });
    expect([(await see(rui)).status, (await see(ana)).status]).toEqual([409, 200]);
  });

  test('dies with the one who asked, also between the agreement and the act', async () => {
    const desk = await newOperator(service, 'support');
    const third = await newOperator(service, 'administrator');
    const { requestId } = (await ask(ana, { change: 'suspend', email: desk.email })).body;
    const { shown } = await requestOf(rui, requestId);
    const by = [await idOf(ana), await idOf(rui)];
    const wanted: OperatorChange = { change: 'suspend', email: desk.email };
    expect(await shownChange(shellOf(service), wanted)).toBe(shown);
    await suspendOperator(shellOf(service), ana.email);
    await expect(changeAsShown(shellOf(service), wanted, { shown, by })).rejects.toThrow(
      'may not do this any more',
    );
    expect((await agree(rui, requestId)).body.code).toBe('request_closed');
    expect(await personOf(third, desk.email)).toMatchObject({ suspendedAt: null });
  });

  test('never takes the last administrator, not even by two requests at once', async () => {
    const third = await newOperator(service, 'administrator');
    const first = (await ask(ana, { change: 'suspend', email: rui.email })).body.requestId;
    const second = (await ask(rui, { change: 'grant', email: ana.email, role: 'support' })).body.requestId;
    const answers = await Promise.all([agree(third, first), agree(third, second)]);
    // Whichever was first ended the other with its person.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const left = (await third.call('GET', '/operators')).body.operators.filter(
      (one: { role: string; suspendedAt: string | null }) =>
        one.role === 'administrator' && one.suspendedAt === null,
    );
    expect(left).toHaveLength(2);
    await service.database.admin(
      `UPDATE operator_person SET suspended_at = now() WHERE email <> '${third.email}'`,
    );
    for (const fields of [{ change: 'suspend' }, { change: 'grant', role: 'auditor' }])
      expect((await ask(third, { email: third.email, ...fields })).body.code).toBe('act_refused');
  });
});

test('An invitation goes to its person by mail where there is a mail server, and is shown to no one', async () => {
  const mailing = await openService({
    worker: false,
    env: { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'vintem@vintem.example' },
  });
  try {
    const one = await newOperator(mailing, 'administrator');
    const other = await newOperator(mailing, 'administrator');
    const email = 'carta@vintem.example';
    const asked = await ask(one, { change: 'create', email, name: 'Carta', role: 'risk' });
    // Nothing listens there: the link is not shown instead, and another one can be asked for.
    const agreed = await agree(other, asked.body.requestId);
    expect(agreed.body).toEqual({ invitation: { email, mailed: false, link: null } });
    const again = await ask(one, { change: 'reset_factor', email });
    expect(again.body.requestId).toMatch(/^[0-9a-f-]{36}$/);
  } finally {
    await mailing.close();
  }
});

describe('kept filters', () => {
  const views = async (desk: Desk) => (await desk.call('GET', '/views')).body.views;
  const keep = (desk: Desk, fields: object) =>
    desk.call('POST', '/views', { page: 'audit', search: { actor: 'root' }, ...fields });

  test('belong to one operator, and a name that the page has takes the new filters', async () => {
    expect((await keep(ana, { name: 'da linha de comando' })).status).toBe(200);
    await keep(ana, { name: 'da linha de comando', search: { action: 'hold.place' } });
    await keep(ana, { page: 'closes', name: 'da linha de comando', search: { connection: 'simulator' } });
    expect(await views(ana)).toMatchObject([
      { page: 'audit', name: 'da linha de comando', search: { action: 'hold.place' } },
      { page: 'closes', search: { connection: 'simulator' } },
    ]);
    expect(await views(rui)).toEqual([]);
    const [{ slot }] = await views(ana);
    expect((await rui.call('POST', `/views/${slot}/removal`, {})).status).toBe(404);
    expect((await ana.call('POST', `/views/${slot}/removal`, {})).body.views).toHaveLength(1);
    expect((await ana.call('POST', `/views/${slot}/removal`, {})).status).toBe(404);
  });

  test('are thirty for each operator, also when they are kept at once', async () => {
    const answers = [];
    for (let n = 0; n < 28; n++) answers.push(await keep(rui, { name: `filtro ${n}` }));
    const many = await Promise.all(Array.from({ length: 8 }, (_, n) => keep(rui, { name: `junto ${n}` })));
    answers.push(...many);
    for (let n = 0; n < 3; n++) answers.push(await keep(rui, { name: `depois ${n}` }));
    expect(await views(rui)).toHaveLength(30);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(30);
    expect(answers.at(-1)?.body.code).toBe('act_refused');
    expect((await keep(ana, { name: 'de outra pessoa' })).status).toBe(200);
  });

  test('that are none are refused', async () => {
    const wrong = [
      { name: '' },
      { name: 'x', search: {} },
      { name: 'x', search: { html: '1' } },
      { name: 'x', page: 'payments' },
      { name: 'a\u0000' },
    ];
    for (const fields of wrong) expect((await keep(ana, fields)).status).toBe(400);
  });
});
