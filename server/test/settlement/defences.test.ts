import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { sendDefences, statusOf } from '@vintem/testkit/settlement.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Letter, Mail } from '../../src/ground/mail.ts';
import { createSecrets } from '../../src/ground/secrets.ts';
import { stepDisputes } from '../../src/jobs/poll.ts';
import { createAlerts } from '../../src/operate/accounts/alerts.ts';
import type { DefenceInstruction, DefenceOutcome, Provider } from '../../src/provider/provider.ts';
import { countSealed, sealAgain } from '../../src/store/database/sealed-columns.ts';

/** Defences of disputes (MED): committed before they are sent, sent once as far as anyone can know, and never taken for refused in doubt. */

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service?.close());

const text = 'O produto foi entregue em 20/11.\nO cliente assinou o recibo.';

function simulator(): Provider {
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  return provider;
}

/** The limit of queries is full again: how soon calls follow each other is the machine's. */
const refill = (): Promise<unknown> =>
  service.database.admin(
    `WITH due AS (UPDATE job SET due_at = 'epoch' WHERE what = 'disputes') UPDATE connection SET query_bucket_at = now() - interval '1 minute'`,
  );

async function readDisputes(): Promise<void> {
  await refill();
  await stepDisputes(service.runtime, simulator());
}

interface Disputed {
  merchant: Merchant;
  id: string;
  providerId: string;
}

async function disputed(merchant?: Merchant): Promise<Disputed> {
  const owner = merchant ?? (await service.newMerchant());
  const { body } = await owner.charge({ amountCents: 1000 });
  const path = `/control/charges/${body.id.replaceAll('-', '')}`;
  await service.simulator.control('POST', `${path}/pay`);
  await until(async () => (await statusOf(service, body.id)) === 'paid');
  const { body: opened } = await service.simulator.control('POST', `${path}/dispute`, {});
  await readDisputes();
  const { disputes } = (await owner.call('GET', '/disputes')).body;
  const found = disputes.find((one: { paymentId: string }) => one.paymentId === body.id);
  return { merchant: owner, id: found.id, providerId: opened.id };
}

const defend = ({ merchant, id }: Disputed, words = text) =>
  merchant.call('POST', `/disputes/${id}/defence`, { text: words });
const shown = async ({ merchant, id }: Disputed) =>
  (await merchant.call('GET', `/disputes/${id}/defence`)).body;

/** The provider's record of it. */
async function truth({ providerId }: Disputed): Promise<{ status: string; defence: string | undefined }> {
  const listed = await simulator().disputes?.list({ fromMs: 0, toMs: Date.now() + 60_000 });
  if (listed?.outcome !== 'listed') throw new Error('no list');
  const one = listed.reports.find((report) => report.providerId === providerId);
  const { body } = await service.simulator.control('GET', '/control/state');
  const kept = body.disputes.find(({ id }: { id: string }) => id === providerId);
  return { status: one?.status ?? '', defence: kept?.defence?.text };
}

type Defend = (defence: DefenceInstruction) => Promise<DefenceOutcome>;

type List = NonNullable<Provider['disputes']>['list'];

/** One attempt of each that waits, behind the queries that a repeat needs. */
async function send(instead?: Defend, lists?: List): Promise<void> {
  const provider = simulator();
  const list = lists ?? provider.disputes?.list;
  if (!list) throw new Error('no disputes');
  const defend = instead ?? provider.disputes?.defend;
  await sendDefences(service, { ...provider, disputes: { list, ...(defend && { defend }) } });
}

/** A list that lags: it shows every dispute as it was before the defence. */
const lagging: List = async (window) => {
  const listed = await simulator().disputes?.list(window);
  if (listed?.outcome !== 'listed') throw new Error('no list');
  return { ...listed, reports: listed.reports.map((report) => ({ ...report, status: 'open' as const })) };
};

/** The newest defence, and its intent. */
async function row({ id }: Disputed): Promise<Record<string, unknown>> {
  const [found] = await service.database.admin<Record<string, unknown>>(
    `SELECT f.*, i.state, i.attempt FROM dispute_defence f LEFT JOIN intent i ON i.account_id = f.account_id AND i.payment_id = f.id
      WHERE f.dispute_id = $1 ORDER BY f.created_at DESC LIMIT 1`,
    [id],
  );
  if (!found) throw new Error('no defence');
  return found;
}

/** Of the defence of a dispute that failed. */
async function eventsOf({ id }: Disputed): Promise<Record<string, unknown>[]> {
  const rows = await service.database.admin<{ body: string }>(
    `SELECT body FROM event WHERE type = 'dispute.defence_failed' AND body::jsonb #>> '{data,id}' = $1 ORDER BY id`,
    [id],
  );
  return rows.map(({ body }) => JSON.parse(body));
}

async function someone(accountId: string): Promise<string> {
  const id = service.runtime.ids.uuid();
  const email = `finance-${id.slice(-6)}@loja.example`;
  await service.database.admin(
    `INSERT INTO panel_user (id, name, email, email_verified, created_at, updated_at) VALUES ($1, 'Ana', $2, true, now(), now())`,
    [id, email],
  );
  await service.database.admin(
    `INSERT INTO panel_member (account_id, user_id, role, created_at) VALUES ($1, $2, 'finance', now())`,
    [accountId, id],
  );
  return email;
}

/** One round of the mails: those about a defence. */
async function mailed(to: string): Promise<Letter[]> {
  const letters: Letter[] = [];
  const mail: Mail = { send: async (letter) => void letters.push(letter) };
  const { sql, clock, log } = service.runtime;
  await createAlerts({ sql, clock, mail, log }, 'https://pix.example').step();
  return letters.filter((letter) => letter.to === to && letter.en.subject.includes('defence'));
}

const really = (): Defend => {
  const call = simulator().disputes?.defend;
  if (!call) throw new Error('no defences');
  return call;
};

const lost: DefenceOutcome = { outcome: 'unclear', cause: 'network', detail: 'lost', retryAfterMs: null };

describe('a defence', () => {
  test('is committed, sent, and shown by the provider soon after', async () => {
    const one = await disputed();
    expect(await shown(one)).toEqual({ offer: { textMost: 1000, files: null }, files: [], defence: null });
    const { status, body } = await defend(one);
    expect(status).toBe(201);
    expect(body).toMatchObject({ disputeId: one.id, status: 'pending', text, sentAt: null });
    expect((await truth(one)).defence).toBeUndefined();
    await send();
    expect(await truth(one)).toEqual({ status: 'defending', defence: text });
    const { offer, defence } = await shown(one);
    expect(offer).toBeNull();
    expect(defence).toMatchObject({ status: 'sent', text });
    expect(defence.sentAt).toBe(defence.updatedAt);
    const [due] = await service.database.admin<{ due: boolean }>(
      `SELECT due_at <= now() AS due FROM job WHERE what = 'disputes' AND subject = 'simulator'`,
    );
    expect(due?.due).not.toBe(false);
  });

  test('is the same one when it is asked for again, and another text is refused', async () => {
    const one = await disputed();
    const first = await defend(one);
    const again = await defend(one);
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect((await defend(one, 'Outro texto.')).body.code).toBe('dispute_defended');
    await send();
    expect((await defend(one)).body).toMatchObject({ status: 'sent' });
    expect((await defend(one, 'Outro texto.')).body.code).toBe('dispute_defended');
    expect((await truth(one)).defence).toBe(text);
  });

  test('is taken from a disabled account too, whose deadlines run', async () => {
    const one = await disputed();
    await service.database.admin('UPDATE account SET enabled = false WHERE id = $1', [one.merchant.ownerId]);
    expect((await defend(one)).body).toMatchObject({ status: 'pending' });
    await send();
    expect((await truth(one)).defence).toBe(text);
  });

  test('asked for twice at once is one', async () => {
    const one = await disputed();
    const answers = await Promise.all([defend(one, 'Um.'), defend(one, 'Dois.'), defend(one, 'Um.')]);
    const made = answers.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ body }) => body.text)).size).toBe(1);
    for (const { body } of answers.filter(({ status }) => status !== 201))
      expect(body.code).toBe('dispute_defended');
    expect((await shown(one)).defence.text).toBe(made[0]?.body.text);
  });

  test('is sealed, and opens after the secret was changed', async () => {
    const one = await disputed();
    await defend(one);
    const { body, id } = (await row(one)) as { body: Buffer; id: string };
    expect(body.includes(Buffer.from('entregue'))).toBe(false);
    const { runtime } = service;
    const { ids, secrets: before } = runtime;
    const old = Buffer.alloc(32, 7);
    const next = createSecrets(ids, Buffer.alloc(32, 8), old);
    const sealed = createSecrets(ids, old).seal(text, id);
    await service.database.admin('UPDATE dispute_defence SET body = $2 WHERE dispute_id = $1', [
      one.id,
      sealed,
    ]);
    const oldId = createSecrets(ids, old).id;
    expect((await countSealed(runtime.sql, next.id)).get(oldId)).toBe(1);
    await sealAgain({ sql: runtime.sql, secrets: next });
    expect((await countSealed(runtime.sql, next.id)).get(oldId)).toBeUndefined();
    expect(next.open((await row(one)).body as Buffer, id).toString()).toBe(text);
    await service.database.admin('UPDATE dispute_defence SET body = $2 WHERE dispute_id = $1', [
      one.id,
      before.seal(text, id),
    ]);
    await send();
    expect((await truth(one)).defence).toBe(text);
  });
});

describe('bad input', () => {
  test('nothing, too much, control characters and unknown fields', async () => {
    const one = await disputed();
    for (const wrong of [
      {},
      { text: '' },
      { text: '   ' },
      { text: 'x'.repeat(1001) },
      { text: 'a\u0000b' },
      { text: 'a\tb' },
      { text: 1 },
      { text, more: 1 },
    ]) {
      const { status, body } = await one.merchant.call('POST', `/disputes/${one.id}/defence`, wrong);
      expect([status, body.code], JSON.stringify(wrong)).toEqual([400, 'validation_failed']);
    }
    expect((await defend(one, '😀'.repeat(501))).body.code).toBe('defence_too_long');
    expect((await defend(one, '😀'.repeat(500))).status).toBe(201);
  });

  test('of another account, another operation or an unknown dispute is the same 404', async () => {
    const one = await disputed();
    const other = await service.newMerchant();
    for (const id of [one.id, crypto.randomUUID()]) {
      const foreign = { ...one, merchant: other, id };
      expect((await defend(foreign)).body.code).toBe('dispute_not_found');
      expect((await shown(foreign)).code).toBe('dispute_not_found');
    }
    expect((await shown(one)).defence).toBeNull();
  });

  test('needs its own permission', async () => {
    const one = await disputed();
    const without = service.as(
      await service.newKey(one.merchant.ownerId, ['read', 'charges', 'transfers', 'refunds']),
    );
    const { status, body } = await without('POST', `/disputes/${one.id}/defence`, { text });
    expect([status, body.code]).toEqual([403, 'permission_denied']);
    const only = service.as(await service.newKey(one.merchant.ownerId, ['disputes']));
    expect((await only('POST', `/disputes/${one.id}/defence`, { text })).status).toBe(201);
    expect((await only('GET', `/disputes/${one.id}/defence`)).status).toBe(200);
  });
});

describe('a dispute that takes no defence', () => {
  test('after the deadline, also one that passes before the sending', async () => {
    const one = await disputed();
    const pending = await disputed();
    await defend(pending);
    await service.database.admin(
      `UPDATE dispute SET deadline_at = now() - interval '1 s' WHERE id = ANY ($1::uuid[])`,
      [[one.id, pending.id]],
    );
    expect((await defend(one)).body.code).toBe('defence_window_closed');
    expect((await shown(one)).offer).toBeNull();
    await send();
    expect((await shown(pending)).defence).toMatchObject({
      status: 'failed',
      reasonCode: 'deadline_over',
      sentAt: null,
    });
    expect((await truth(pending)).defence).toBeUndefined();
  });

  test('when it has ended, also before the sending', async () => {
    const one = await disputed();
    const pending = await disputed();
    await defend(pending);
    for (const { providerId } of [one, pending])
      await service.simulator.control('POST', `/control/disputes/${providerId}/cancel`);
    await readDisputes();
    expect((await defend(one)).body.code).toBe('dispute_ended');
    await send();
    expect((await shown(pending)).defence).toMatchObject({ status: 'failed', reasonCode: 'dispute_ended' });
  });

  test('when it was answered in the panel of the provider', async () => {
    const one = await disputed();
    const pending = await disputed();
    await defend(pending);
    for (const { providerId } of [one, pending])
      await service.simulator.control('POST', `/control/disputes/${providerId}/defend`);
    await send();
    expect((await shown(pending)).defence).toMatchObject({
      status: 'failed',
      reasonCode: 'already_defended',
    });
    await readDisputes();
    expect((await defend(one)).body.code).toBe('dispute_defended');
  });

  test('where the connection offers none', async () => {
    const one = await disputed();
    const { providers } = service.runtime;
    const provider = simulator();
    const bare = { ...provider, capabilities: { ...provider.capabilities, defence: null } };
    (providers as Map<string, Provider>).set('simulator', bare);
    try {
      expect((await defend(one)).body.code).toBe('not_offered_by_provider');
      expect(await shown(one)).toEqual({ offer: null, files: [], defence: null });
    } finally {
      (providers as Map<string, Provider>).set('simulator', provider);
    }
  });
});

describe('the sending', () => {
  test('counts its attempt before the first byte goes out', async () => {
    const one = await disputed();
    await defend(one);
    const seen: unknown[] = [];
    await send(async (defence) => {
      const { status, state, attempt } = await row(one);
      seen.push([status, state, attempt, defence.disputeId, defence.text]);
      return { outcome: 'accepted' };
    });
    expect(seen).toEqual([['unknown', 'sending', 1, one.providerId, text]]);
  });

  test('whose answer is lost is queried, and not sent again where the provider shows it', async () => {
    const one = await disputed();
    await defend(one);
    const defending = really();
    await send(async (defence) => {
      await defending(defence);
      return lost;
    });
    expect((await shown(one)).defence).toMatchObject({ status: 'unknown', sentAt: null });
    expect((await defend(one)).body).toMatchObject({ status: 'unknown' });
    let called = 0;
    await send(async () => {
      called++;
      return lost;
    });
    expect(called).toBe(0);
    expect((await shown(one)).defence).toMatchObject({ status: 'sent' });
  });

  test('whose answer is lost is repeated while a list lags, and "there is one already" says that it has arrived', async () => {
    const one = await disputed();
    await defend(one);
    const defending = really();
    await send(async (defence) => {
      await defending(defence);
      return lost;
    });
    const answers: DefenceOutcome[] = [];
    await send(async (defence) => {
      const answer = await defending(defence);
      answers.push(answer);
      return answer;
    }, lagging);
    expect(answers).toMatchObject([{ outcome: 'refused', reason: 'already_defended' }]);
    expect((await shown(one)).defence).toMatchObject({ status: 'sent' });
  });

  test.each([false, true])(
    'of a process that died is queried before it is sent again; it had arrived: %s',
    async (arrived) => {
      const one = await disputed();
      await defend(one);
      const { id } = await row(one);
      const { identity } = simulator();
      // As the process left it between the commit of its attempt and the answer.
      await service.database.admin(
        `UPDATE intent SET state = 'sending', attempt = 1, lease_until = now() - interval '1 minute', due_at = now() - interval '1 minute',
        identity = $2 WHERE payment_id = $1`,
        [id, identity],
      );
      if (arrived) await really()({ disputeId: one.providerId, text, files: [] });
      let called = 0;
      const count: Defend = async (defence) => {
        called++;
        return really()(defence);
      };
      await send(count);
      expect(called).toBe(0);
      expect(await row(one)).toMatchObject({ state: 'awaiting', attempt: 1 });
      await send(count);
      expect(called).toBe(arrived ? 0 : 1);
      expect((await shown(one)).defence).toMatchObject({ status: 'sent' });
      expect((await truth(one)).defence).toBe(text);
    },
  );

  test('that is under way when its dispute ends has the end that its own answer says', async () => {
    const one = await disputed();
    await defend(one);
    await send(async () => {
      await service.simulator.control('POST', `/control/disputes/${one.providerId}/accept`);
      await readDisputes();
      expect((await shown(one)).defence).toMatchObject({ status: 'unknown' });
      return { outcome: 'refused', reason: 'deadline_over', detail: '422' };
    });
    expect((await shown(one)).defence).toMatchObject({ status: 'failed', reasonCode: 'deadline_over' });
  });

  test('that is refused after an unclear attempt stays unclear until the provider shows the defence', async () => {
    const one = await disputed();
    await defend(one);
    await send(async () => lost);
    await send(async () => ({ outcome: 'refused', reason: 'deadline_over', detail: '422' }));
    expect((await shown(one)).defence).toMatchObject({ status: 'unknown' });
    expect((await defend(one, 'Outro texto.')).body.code).toBe('dispute_defended');
    await service.simulator.control('POST', `/control/disputes/${one.providerId}/defend`);
    await readDisputes();
    let called = 0;
    await send(async () => {
      called++;
      return lost;
    });
    expect(called).toBe(0);
    expect((await shown(one)).defence).toMatchObject({ status: 'sent' });
  });

  test('is over with the deadline, and what may have arrived is not called refused', async () => {
    const one = await disputed();
    await defend(one);
    await send(async () => lost);
    await service.database.admin(`UPDATE dispute SET deadline_at = now() - interval '1 s' WHERE id = $1`, [
      one.id,
    ]);
    let called = 0;
    const count: Defend = async () => {
      called++;
      return lost;
    };
    await send(count);
    expect((await shown(one)).defence).toMatchObject({ status: 'unknown' });
    await service.simulator.control('POST', `/control/disputes/${one.providerId}/accept`);
    await readDisputes();
    await send(count);
    expect(called).toBe(0);
    expect((await shown(one)).defence).toMatchObject({ status: 'unknown' });
    expect(await row(one)).toMatchObject({ status: 'expired', state: null });
  });

  test('that was refused for what it says makes room for another text', async () => {
    const one = await disputed();
    await defend(one);
    await send(async () => ({ outcome: 'refused', reason: 'provider_refused', detail: '400' }));
    expect(await shown(one)).toMatchObject({
      offer: { textMost: 1000 },
      defence: { status: 'failed', reasonCode: 'provider_refused' },
    });
    expect((await defend(one, 'Outro texto.')).body).toMatchObject({ status: 'pending' });
    await send();
    expect((await truth(one)).defence).toBe('Outro texto.');
  });

  test('that failed is reported: an event with the reason, and one mail to the people of the account', async () => {
    const one = await disputed();
    const email = await someone(one.merchant.ownerId);
    await defend(one);
    await send(async () => ({ outcome: 'refused', reason: 'provider_refused', detail: '400' }));
    const [told, ...more] = await eventsOf(one);
    expect(more).toEqual([]);
    expect(told).toMatchObject({
      type: 'dispute.defence_failed',
      change: { from: 'open', to: 'open' },
      data: {
        id: one.id,
        operationId: one.merchant.operationId,
        status: 'open',
        heldCents: 1000,
        defence: { status: 'failed', reasonCode: 'provider_refused' },
      },
    });
    const letters = await mailed(email);
    expect(letters).toHaveLength(1);
    expect(letters[0]?.en.text).toContain('another one can be sent');
    expect(letters[0]?.['pt-BR'].text).toContain(one.id);
    expect(letters[0]?.['pt-BR'].text).toMatch(
      /Pagador +Maria\n[\s\S]*Escrever a defesa: https:\/\/pix\.example\/pagamentos\//,
    );
    expect(letters[0]?.en.text).not.toContain('entregue em 20/11');
    expect(await mailed(email)).toEqual([]);
  });

  test('that failed is not mailed once another text is on its way, nor twice by two processes', async () => {
    const one = await disputed();
    const email = await someone(one.merchant.ownerId);
    await defend(one);
    const refused: Defend = async () => ({ outcome: 'refused', reason: 'provider_refused', detail: '400' });
    await send(refused);
    await defend(one, 'Outro texto.');
    expect(await mailed(email)).toEqual([]);
    await send(refused);
    expect((await Promise.all([mailed(email), mailed(email)])).flat()).toHaveLength(1);
    expect(await eventsOf(one)).toHaveLength(2);
  });

  test('that may have arrived has no event', async () => {
    const one = await disputed();
    await defend(one);
    await send(async () => lost);
    await send(async () => ({ outcome: 'refused', reason: 'provider_refused', detail: '400' }));
    expect(await eventsOf(one)).toEqual([]);
  });

  test('of a deleted operation fails without an event', async () => {
    const one = await disputed();
    await defend(one);
    await service.database.admin(
      `WITH b AS (UPDATE balance SET deleted_at = now() WHERE operation_id = $1)
        UPDATE operation SET deleted_at = now(), main = NULL, slot = NULL WHERE id = $1`,
      [one.merchant.operationId],
    );
    await send(async () => ({ outcome: 'refused', reason: 'provider_refused', detail: '400' }));
    expect(await row(one)).toMatchObject({ status: 'failed' });
    expect(await eventsOf(one)).toEqual([]);
  });

  test('that could not go out does not count as an attempt', async () => {
    const one = await disputed();
    await defend(one);
    await send(async () => ({ outcome: 'notSent', detail: 'no connection' }));
    expect(await row(one)).toMatchObject({ state: 'ready', attempt: 0 });
    expect((await shown(one)).defence).toMatchObject({ status: 'pending' });
    await send();
    expect((await truth(one)).defence).toBe(text);
  });

  test('is taken up by another process after one that died in it, which learns nothing of the end', async () => {
    const one = await disputed();
    await defend(one);
    await send(async () => {
      // The lease of the one that sends ends, and another one has the defence.
      await service.database.admin(
        `UPDATE intent SET due_at = now() - interval '1 minute', lease_until = now() - interval '1 minute' WHERE kind = 'defence'`,
      );
      await send();
      await send();
      return { outcome: 'refused', reason: 'provider_refused', detail: 'late' };
    });
    expect((await shown(one)).defence).toMatchObject({ status: 'sent' });
    expect(await row(one)).toMatchObject({ attempts: 2 });
    expect((await truth(one)).defence).toBe(text);
  });

  test('of one whose text cannot be opened waits, and is reported to a person', async () => {
    const one = await disputed();
    await defend(one);
    const { body, id } = await row(one);
    const foreign = createSecrets(service.runtime.ids, Buffer.alloc(32, 9)).seal(text, id as string);
    const put = (bytes: unknown) =>
      service.database.admin('UPDATE dispute_defence SET body = $2 WHERE dispute_id = $1', [one.id, bytes]);
    await put(foreign);
    await send();
    expect(await row(one)).toMatchObject({ state: 'ready', attempt: 0 });
    const incidents = await service.database.admin(
      `SELECT kind FROM incident WHERE reference = 'unreadable:defence:' || $1`,
      [one.id],
    );
    expect(incidents).toEqual([{ kind: 'unreadable' }]);
    expect((await shown(one)).defence).toMatchObject({ text: null });
    await put(body);
    await send();
    expect((await truth(one)).defence).toBe(text);
  });
});
