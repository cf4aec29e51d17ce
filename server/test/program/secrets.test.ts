import { randomBytes } from 'node:crypto';
import { mailsTo, newPerson, openTab, passCodes, password, totpOf } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { confirmDraft, createDraft } from '../../src/api/transfers/draft.ts';
import { applyOutcome } from '../../src/flow/apply.ts';
import type { Caller } from '../../src/ground/caller.ts';
import { SettingFault } from '../../src/ground/config.ts';
import { createSecrets, type Secrets } from '../../src/ground/secrets.ts';
import { listIncidents } from '../../src/operate/incidents/incident.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import type { Sql } from '../../src/ports/sql.ts';
import type { PayoutReport, PixReturn } from '../../src/provider/provider.ts';
import { claimSecret, rotateSecrets, statusOfSecrets } from '../../src/store/database/installation-secret.ts';
import { countSealed } from '../../src/store/database/sealed-columns.ts';
import { keepPageKey } from '../../src/store/rows/page-key.ts';

const ids = systemIds(systemClock);
const [a, b, c] = [randomBytes(32), randomBytes(32), randomBytes(32)] as [Buffer, Buffer, Buffer];
const idOf = (secret: Buffer): string => createSecrets(ids, secret).id;

let service: Service;
const others: Service[] = [];

beforeEach(async () => {
  service = await openService({ env: { VINTEM_SECRET: a.toString('base64') } });
});
afterEach(async () => {
  for (const other of others.splice(0)) await other.close();
  await service.close();
});

/** Another process over the same database. */
async function another(secret: Buffer, previous?: Buffer): Promise<Service> {
  const opened = await openService({
    env: {
      VINTEM_SECRET: secret.toString('base64'),
      ...(previous && { VINTEM_SECRET_PREVIOUS: previous.toString('base64') }),
    },
    worker: false,
    database: service.database,
  });
  others.push(opened);
  return opened;
}

/** The steps of the command: a start with the new secret, then the rotation, when no process uses the old one any more. */
async function rotate(secret: Buffer, previous: Buffer): Promise<Secrets> {
  const { sql, clock, log } = service.runtime;
  const secrets = createSecrets(ids, secret, previous);
  await claimSecret({ sql, secrets });
  await oldProcessesEnded();
  await rotateSecrets({ sql, secrets, clock, log });
  return secrets;
}

const oldProcessesEnded = () =>
  service.database.admin(`UPDATE sealing_secret SET used_at = now() - interval '1 hour'`);

/** In which columns of the whole database something is sealed under a secret: whatever the program believes. */
async function columnsSealedUnder(id: string): Promise<string[]> {
  const columns = await service.database.admin<{ table: string; column: string; type: string }>(
    `SELECT c.relname::text AS table, a.attname::text AS column, t.typname::text AS type
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
      WHERE c.relnamespace = 'vintem'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
        AND t.typname IN ('bytea', 'text') ORDER BY 1, 2`,
  );
  const found: string[] = [];
  for (const { table, column, type } of columns) {
    const sealed =
      type === 'bytea'
        ? `position('\\x01${id}'::bytea IN "${column}") = 1`
        : `"${column}" LIKE '$ba$${Number.parseInt(id, 16)}$%'`;
    const [row] = await service.database.admin<{ some: boolean }>(
      `SELECT EXISTS (SELECT FROM "${table}" WHERE ${sealed}) AS some`,
    );
    if (row?.some) found.push(`${table}.${column}`);
  }
  return found;
}

async function callerOf(merchant: Merchant): Promise<Caller> {
  const [row] = await service.database.admin<{ number: string }>('SELECT number FROM account WHERE id = $1', [
    merchant.ownerId,
  ]);
  return {
    accountId: merchant.ownerId,
    accountNumber: Number(row?.number),
    test: true,
    connection: 'simulator',
    keyId: null,
    permissions: new Set(['transfers']),
    requestId: 'a person',
    operationId: merchant.operationId,
    operationNamed: true,
  };
}

/** One of everything that is sealed. */
async function somethingOfEverything() {
  const merchant = await service.newMerchant();
  await merchant.receive(10_000);
  const transfer = (await merchant.transfer()).body;
  const caller = await callerOf(merchant);
  const request = {
    amountCents: 1000,
    pixKey: 'maria@loja.example',
    pixKeyType: 'EMAIL' as const,
    description: 'Repasse',
    requestKey: ids.uuid(),
  };
  const draft = await createDraft(service.runtime, caller, request, 'ana@empresa.example');
  const endpoint = (
    await merchant.call('POST', '/webhooks', {
      url: 'https://loja.example/hook',
      events: ['*'],
      requestKey: ids.uuid(),
    })
  ).body;
  await merchant.call('POST', `/webhooks/${endpoint.id}/rotate-secret`, {});
  const email = `${ids.uuid()}@loja.example`;
  await newPerson(service, merchant.ownerId, email);
  const tab = openTab(service);
  await tab.signIn(email);
  const enabled = (await tab.call('POST', '/auth/two-factor/enable', { password })).body;
  const totp = new URL(enabled.totpURI).searchParams.get('secret') ?? '';
  const code = totpOf(totp, Date.now());
  expect((await tab.call('POST', '/auth/two-factor/verify-totp', { code })).status).toBe(200);
  return { merchant, caller, transfer, draft, email, totp, backupCode: enabled.backupCodes[0] as string };
}

async function signsIn(at: Service, email: string, how: { totp: string } | { backupCode: string }) {
  const tab = openTab(at);
  const answer = await tab.call('POST', '/auth/sign-in/email', { email, password });
  expect(answer.body.twoFactorRedirect).toBe(true);
  await passCodes(at);
  const second =
    'totp' in how
      ? await tab.call('POST', '/auth/two-factor/verify-totp', {
          code: totpOf(how.totp, Date.now()),
        })
      : await tab.call('POST', '/auth/two-factor/verify-backup-code', { code: how.backupCode });
  return second.status;
}

const keyWorks = async (at: Service, key: string): Promise<number> =>
  (await at.as(key)('GET', '/account')).status;

/** A database with one name: the columns of every secret's values, and what the program counts. */
const sealedColumnsOf = [
  'draft.email',
  'inbound.body',
  'page_key.sealed',
  'panel_two_factor.backup_codes',
  'panel_two_factor.secret',
  'payment.pix_key',
  'webhook_endpoint.previous_secret',
  'webhook_endpoint.secret',
];

describe('after a rotation and without the previous secret', () => {
  test('nothing is lost, twice in a row: keys, second factors, codes and every sealed value', async () => {
    const made = await somethingOfEverything();
    const printed = service.runtime.pages.of('link', 17, made.transfer.id);
    expect(await columnsSealedUnder(idOf(a))).toEqual(sealedColumnsOf);

    await rotate(b, a);
    expect(await columnsSealedUnder(idOf(a))).toEqual([]);
    expect(await columnsSealedUnder(idOf(b))).toEqual([...sealedColumnsOf, 'retired_pepper.sealed'].sort());
    const second = await another(b);
    expect(await keyWorks(second, made.merchant.key)).toBe(200);
    expect(await signsIn(second, made.email, { totp: made.totp })).toBe(200);
    const youngKey = await second.newKey(made.merchant.ownerId);

    await rotate(c, b);
    expect(await columnsSealedUnder(idOf(b))).toEqual([]);
    const third = await another(c);
    for (const key of [made.merchant.key, youngKey]) expect(await keyWorks(third, key)).toBe(200);
    expect(await signsIn(third, made.email, { backupCode: made.backupCode })).toBe(200);
    // Whatever the secret: printed addresses live on.
    const token = printed.split('/').at(-1) ?? '';
    expect(third.runtime.pages.read(token)).toEqual({
      kind: 'link',
      accountNumber: 17,
      id: made.transfer.id,
    });
    const status = await statusOfSecrets(third.runtime);
    expect(status.current).toBe(idOf(c));
    expect(status.sealed).toEqual([{ secret: idOf(c), count: expect.any(Number) }]);
  });

  test('a code that was mailed before is good while the previous secret is configured', async () => {
    const { caller, draft } = await somethingOfEverything();
    const mail = (await mailsTo(service, 'ana@empresa.example')).at(-1) ?? '';
    const code = /^Código: (\d{6})$/m.exec(mail)?.[1] ?? '';
    const next = await another(b, a);
    const confirmed = await confirmDraft(next.runtime, caller, draft.id, code);
    expect(confirmed.status).not.toBe('draft');
  });
});

describe('a rotation', () => {
  test('that is cut off at any statement is finished by the next one', async () => {
    await somethingOfEverything();
    const { sql, clock, log } = service.runtime;
    const secrets = createSecrets(ids, b, a);
    await claimSecret({ sql, secrets });
    await oldProcessesEnded();
    // Each run is killed after its first write, which stays: one for the peppers and one for each column.
    for (let run = 0; run < 1 + sealedColumnsOf.length; run++) {
      const dying = endingAfter(sql, 1);
      await expect(rotateSecrets({ sql: dying, secrets, clock, log })).rejects.toThrow('killed');
    }
    expect(await columnsSealedUnder(idOf(a))).toEqual([]);
    await expect(another(b)).rejects.toThrow('uses another secret');
    await rotateSecrets({ sql, secrets, clock, log });
    await another(b);
  });

  test('waits for a process that still seals under the old secret, and clears nothing while it runs', async () => {
    await somethingOfEverything();
    const { sql, clock, log } = service.runtime;
    const secrets = createSecrets(ids, b, a);
    await claimSecret({ sql, secrets });
    let now = 0;
    // The process of the old secret renews its row whenever the rotation looks.
    const patient = {
      ...clock,
      monotonicMs: () => now,
      sleep: async () => {
        now += 1_000;
        await service.database.admin('UPDATE sealing_secret SET used_at = now()');
      },
    };
    await expect(rotateSecrets({ sql, secrets, clock: patient, log })).rejects.toThrow('still seals under');
    // Values that it sealed meanwhile still need its secret: no process may start without that secret.
    await service.runtime.sql.tx((tx) =>
      tx.run({ name: 'test.late', text: 'UPDATE webhook_endpoint SET secret = $1' }, [
        service.runtime.secrets.seal('whsec_late', 'late'),
      ]),
    );
    await expect(another(b)).rejects.toThrow('stored values need a secret that is not set');
  });
});

/** A process that is killed before its n-th statement that writes. */
function endingAfter(sql: Sql, writes: number): Sql {
  let left = writes;
  return {
    ...sql,
    tx: (work) => {
      if (--left < 0) return Promise.reject(new Error('killed'));
      return sql.tx(work);
    },
  };
}

describe('a start', () => {
  test('of several processes at once makes one key of public addresses', async () => {
    const { sql, secrets } = service.runtime;
    await service.database.admin('DELETE FROM page_key');
    const keys = await Promise.all([0, 1, 2].map(() => keepPageKey({ sql, secrets, ids }, null)));
    expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1);
    expect(keys[0]).toHaveLength(32);
  });

  test('with a secret that cannot read everything ends with the count, and changes nothing', async () => {
    await somethingOfEverything();
    const count = [...(await countSealed(service.runtime.sql, idOf(a))).values()].reduce((x, y) => x + y, 0);
    for (const secrets of [createSecrets(ids, b), createSecrets(ids, b, c)]) {
      const fault = await claimSecret({ sql: service.runtime.sql, secrets }).catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(SettingFault);
      expect((fault as SettingFault).lines).toHaveLength(1);
      expect((fault as Error).message).toContain(`VINTEM_SECRET: ${count} stored values need`);
      expect((fault as Error).message).toContain(idOf(a));
    }
    expect(await statusOfSecrets(service.runtime)).toEqual({
      current: idOf(a),
      sealed: [{ secret: idOf(a), count }],
    });
    await rotate(b, a);
    const back = createSecrets(ids, a);
    await expect(claimSecret({ sql: service.runtime.sql, secrets: back })).rejects.toThrow('stored values');
  });

  test('of two machines without a shared secret passes on one alone, also on an empty database', async () => {
    await service.database.admin('DELETE FROM sealing_secret');
    await service.database.admin('UPDATE installation SET secret_id = NULL');
    // The start of the service sealed it: without it nothing needs a secret.
    await service.database.admin('DELETE FROM page_key');
    const starts = await Promise.allSettled(
      [a, b].map((secret) => claimSecret({ sql: service.runtime.sql, secrets: createSecrets(ids, secret) })),
    );
    expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refused = starts.find((start) => start.status === 'rejected');
    expect(refused?.reason.message).toContain('uses another secret');
  });

  test('names second factors that an earlier version sealed without the name of their secret', async () => {
    const { email, totp } = await somethingOfEverything();
    // As version 0.1.0 stored them: the same cipher without the envelope.
    await service.database.admin(
      `UPDATE panel_two_factor SET secret = split_part(secret, '$', 4), backup_codes = split_part(backup_codes, '$', 4)`,
    );
    const next = await another(b, a);
    expect(await signsIn(next, email, { totp })).toBe(200);
  });
});

describe('a value that cannot be opened', () => {
  const spoil = (table: string, column: string) =>
    service.database.admin(
      `UPDATE ${table} SET ${column} = set_byte(${column}, 12, get_byte(${column}, 12) # 1) WHERE ${column} IS NOT NULL`,
    );
  const unreadable = async (accountId: string) =>
    (await listIncidents(service.runtime, accountId)).filter(({ kind }) => kind === 'unreadable');

  /** A provider's report of a transfer of R$ 70,00 that repeats the key in its reports, as API Pix allows. */
  async function pendingTransfer() {
    const merchant = await service.newMerchant();
    await merchant.receive(10_000);
    await service.simulator.behave({ payout: 'stay-pending' });
    const { id } = (await merchant.transfer({ amountCents: 7000 })).body;
    await spoil('payment', 'pix_key');
    const report = {
      providerId: id.replaceAll('-', ''),
      amountCents: 6975,
      pixKey: 'maria@loja.example',
      endToEnd: null,
      settledAt: null,
      reason: null,
      returns: [] as PixReturn[],
    };
    const hear = (fields: Pick<PayoutReport, 'status'> & Partial<PayoutReport>) =>
      applyOutcome(
        service.runtime,
        {
          accountId: merchant.ownerId,
          paymentId: id,
          operationId: merchant.operationId,
          connection: 'simulator',
          kind: 'transfer',
          observation: { from: 'webhook', id: ids.uuid(), received: [], payouts: [{ ...report, ...fields }] },
        },
        service.runtime.clock.monotonicMs() + 10_000,
      );
    return { merchant, id, hear };
  }

  test('holds up no money: a transfer completes and its return is credited, with an incident', async () => {
    const { merchant, hear } = await pendingTransfer();
    expect((await hear({ status: 'completed' })).status).toBe('completed');
    const back = {
      id: null,
      rtrId: ids.uuid(),
      amountCents: 6975,
      at: Date.now(),
      status: 'settled' as const,
    };
    expect((await hear({ status: 'completed', returns: [back] })).returnedCents).toBe(6975);
    expect(await merchant.balanceCents()).toBe(9975);
    expect(await unreadable(merchant.ownerId)).toHaveLength(1);
    expect(await violationsOfBooks(service)).toEqual([]);
  });

  test('releases no reserve: a refusal waits until the key can be compared', async () => {
    const { merchant, hear } = await pendingTransfer();
    const refusal = { status: 'refused', reason: 'provider_refused' } as const;
    expect((await hear(refusal)).status).toBe('pending');
    expect(await unreadable(merchant.ownerId)).toHaveLength(1);
    await spoil('payment', 'pix_key');
    expect((await hear(refusal)).status).toBe('cancelled');
    expect(await merchant.balanceCents()).toBe(10_000);
  });

  test('is never sent, and the draft stays: a code is not used up', async () => {
    const { merchant, caller, draft } = await somethingOfEverything();
    const mail = (await mailsTo(service, 'ana@empresa.example')).at(-1) ?? '';
    const code = /^Código: (\d{6})$/m.exec(mail)?.[1] ?? '';
    await spoil('payment', 'pix_key');
    await expect(confirmDraft(service.runtime, caller, draft.id, code)).rejects.toMatchObject({
      code: 'processing_unavailable',
    });
    expect((await unreadable(merchant.ownerId)).map(({ paymentId }) => paymentId)).toContain(draft.id);
    await spoil('payment', 'pix_key');
    expect((await confirmDraft(service.runtime, caller, draft.id, code)).status).not.toBe('draft');
  });

  test('of a webhook endpoint fails no delivery: it waits, is not counted, and an incident says so', async () => {
    const merchant = await service.newMerchant();
    await merchant.call('POST', '/webhooks', {
      url: 'https://loja.example/hook',
      events: ['*'],
      requestKey: ids.uuid(),
    });
    await spoil('webhook_endpoint', 'secret');
    await merchant.receive(1000);
    await until(async () => (await unreadable(merchant.ownerId)).length > 0);
    const [endpoint] = await service.database.admin<{ failed_attempts: number }>(
      'SELECT failed_attempts FROM webhook_endpoint',
    );
    expect(endpoint?.failed_attempts).toBe(0);
  });
});
