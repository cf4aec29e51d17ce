import { createHash } from 'node:crypto';
import { type Answer, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { callerOf, sendDefences, statusOf } from '@vintem/testkit/settlement.ts';
import { cutAtCommit } from '@vintem/testkit/till.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeFile, stepDisputeFiles } from '../../src/flow/files.ts';
import { createSecrets } from '../../src/ground/secrets.ts';
import { stepDisputes } from '../../src/jobs/poll.ts';
import { accountMostBytes, fileMostBytes, filesMost } from '../../src/money/evidence.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { openPool } from '../../src/store/database/pool.ts';
import { countSealed, sealAgain } from '../../src/store/database/sealed-columns.ts';
import { createTill } from '../../src/store/till.ts';

/** Files of a defence: taken within their limits, kept sealed, and sent to a provider that takes files. */

let service: Service;
let text: Service;
beforeAll(async () => {
  service = await openService({ worker: false, dialect: 'woovi' });
  text = await openService({ worker: false });
});
afterAll(() => Promise.all([service?.close(), text?.close()]));

const pdf = (words: string): Buffer => Buffer.from(`%PDF-1.7\n${words}`);

function providerOf(of: Service, connection: string): Provider {
  const provider = of.runtime.providers.get(connection);
  if (!provider) throw new Error(`no ${connection}`);
  return provider;
}

const refill = (of: Service): Promise<unknown> =>
  of.database.admin(
    `WITH due AS (UPDATE job SET due_at = 'epoch' WHERE what = 'disputes') UPDATE connection SET query_bucket_at = now() - interval '1 minute'`,
  );

interface Disputed {
  of: Service;
  merchant: Merchant;
  id: string;
  providerId: string;
  connection: string;
}

async function disputed(given: { of?: Service; merchant?: Merchant } = {}): Promise<Disputed> {
  const of = given.of ?? service;
  const merchant = given.merchant ?? (await of.newMerchant());
  const { body } = await merchant.charge({ amountCents: 1000 });
  const path = `/control/charges/${body.id.replaceAll('-', '')}`;
  await of.simulator.control('POST', `${path}/pay`);
  await until(async () => (await statusOf(of, body.id)) === 'paid');
  const { body: opened } = await of.simulator.control('POST', `${path}/dispute`, {});
  const [{ connection } = { connection: '' }] = await of.database.admin<{ connection: string }>(
    'SELECT connection FROM payment WHERE id = $1',
    [body.id],
  );
  await refill(of);
  await stepDisputes(of.runtime, providerOf(of, connection));
  const { disputes } = (await merchant.call('GET', '/disputes')).body;
  const found = disputes.find((one: { paymentId: string }) => one.paymentId === body.id);
  return { of, merchant, id: found.id, providerId: opened.id, connection };
}

interface Given {
  name?: string;
  type?: string;
  headers?: Record<string, string>;
}

/** As a client sends a file: its bytes are the body. */
async function give(
  { of, merchant, id }: Disputed,
  contents: Buffer | ReadableStream,
  { name = 'recibo.pdf', type = 'application/pdf', headers = {} }: Given = {},
): Promise<Answer> {
  const answer = await fetch(
    `${of.url}/api/v1/public/disputes/${id}/files?name=${encodeURIComponent(name)}`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${merchant.key}`, 'content-type': type, ...headers },
      body: contents as never,
      ...({ duplex: 'half' } as object),
    },
  );
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}

const defend = ({ merchant, id }: Disputed, body: object) =>
  merchant.call('POST', `/disputes/${id}/defence`, body);
const shown = async ({ merchant, id }: Disputed) =>
  (await merchant.call('GET', `/disputes/${id}/defence`)).body;
const rows = ({ of, id }: Disputed) =>
  of.database.admin<{ id: string; body: Buffer | null; name: string }>(
    'SELECT * FROM dispute_file WHERE dispute_id = $1 ORDER BY id',
    [id],
  );

const send = ({ of, connection }: Disputed): Promise<void> => sendDefences(of, providerOf(of, connection));

async function truth({ of, providerId }: Disputed): Promise<{ name: string; sha256: string }[]> {
  const { body } = await of.simulator.control('GET', '/control/state');
  return body.disputes.find(({ id }: { id: string }) => id === providerId)?.defence?.files ?? [];
}

const sha256 = (contents: Buffer): string => createHash('sha256').update(contents).digest('hex');

describe('a file', () => {
  test('is kept sealed, goes out with the defence byte for byte, and stays listed with it', async () => {
    const one = await disputed();
    expect(await shown(one)).toMatchObject({
      offer: { textMost: 0, files: { most: 5, mostBytes: fileMostBytes } },
      files: [],
    });
    const [receipt, photo] = [pdf('assinado por Ana'), Buffer.from('89504e470d0a1a0a00ff', 'hex')];
    const first = await give(one, receipt, { name: 'recibo assinado nº 1.pdf' });
    expect(first.status).toBe(201);
    expect(first.body).toEqual({
      id: expect.any(String),
      disputeId: one.id,
      name: 'recibo assinado nº 1.pdf',
      type: 'application/pdf',
      sizeBytes: receipt.length,
      sha256: sha256(receipt),
      createdAt: expect.any(String),
    });
    const second = await give(one, photo, { name: 'foto.png', type: 'image/png' });
    const [row] = await rows(one);
    expect(row?.body?.includes(Buffer.from('assinado'))).toBe(false);
    const fileIds = [first.body.id, second.body.id];
    const made = await defend(one, { fileIds });
    expect(made.body).toMatchObject({ status: 'pending', text: null, files: [first.body, second.body] });
    expect(await truth(one)).toEqual([]);
    await send(one);
    expect(await truth(one)).toMatchObject([
      { name: 'recibo assinado nº 1.pdf', sha256: sha256(receipt) },
      { name: 'foto.png', sha256: sha256(photo) },
    ]);
    expect(await shown(one)).toMatchObject({
      offer: null,
      files: [],
      defence: { status: 'sent', files: [first.body, second.body] },
    });
  });

  test('given again is the same file, also twice at once', async () => {
    const one = await disputed();
    const answers = await Promise.all([give(one, pdf('a')), give(one, pdf('a')), give(one, pdf('a'))]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(2);
    expect(await rows(one)).toHaveLength(1);
  });

  test('is taken away again while it goes out with no defence', async () => {
    const one = await disputed();
    const { body: first } = await give(one, pdf('a'));
    const { body: second } = await give(one, pdf('b'));
    const remove = (id: string) => one.merchant.call('DELETE', `/disputes/${one.id}/files/${id}`);
    expect((await remove(first.id)).body).toEqual({ ok: true });
    expect((await remove(first.id)).body.code).toBe('file_not_found');
    expect((await defend(one, { fileIds: [first.id] })).body.code).toBe('file_not_found');
    await defend(one, { fileIds: [second.id] });
    expect((await remove(second.id)).body.code).toBe('dispute_defended');
    expect((await give(one, pdf('c'))).body.code).toBe('dispute_defended');
    expect((await shown(one)).defence.files).toEqual([second]);
  });

  test('is taken away or goes out with a defence, where both are asked for at once', async () => {
    for (let round = 0; round < 8; round++) {
      const one = await disputed();
      const { body: file } = await give(one, pdf('a'));
      const [removed, made] = await Promise.all([
        one.merchant.call('DELETE', `/disputes/${one.id}/files/${file.id}`),
        defend(one, { fileIds: [file.id] }),
      ]);
      expect([
        [200, 'file_not_found'],
        ['dispute_defended', 201],
      ]).toContainEqual([removed.body.code ?? removed.status, made.body.code ?? made.status]);
      expect(await rows(one)).toHaveLength(made.status === 201 ? 1 : 0);
    }
  });

  test('is taken away once where the answer to COMMIT is lost, and the answer is as if it had come', async () => {
    const one = await disputed();
    const { body: file } = await give(one, pdf('a'));
    const { runtime } = one.of;
    const scope = await callerOf(one.of, one.merchant);
    const way = await cutAtCommit(one.of.database.url, true);
    const sql = openPool({ url: way.url, log: runtime.log, name: 'vintem test' });
    try {
      const deps = { ...runtime, till: createTill({ ...runtime, sql }) };
      await removeFile(deps, scope, one.id, file.id);
      expect(way.cuts()).toBe(1);
      expect(await rows(one)).toEqual([]);
      await expect(removeFile(deps, scope, one.id, file.id)).rejects.toMatchObject({
        code: 'file_not_found',
      });
    } finally {
      await sql.close();
      await way.close();
    }
  });

  test('opens after the secret was changed', async () => {
    const one = await disputed();
    const { body } = await give(one, pdf('segredo'));
    const { runtime } = one.of;
    const [old, next] = [
      Buffer.alloc(32, 7),
      createSecrets(runtime.ids, Buffer.alloc(32, 8), Buffer.alloc(32, 7)),
    ];
    const put = (bytes: Buffer) =>
      one.of.database.admin('UPDATE dispute_file SET body = $2 WHERE id = $1', [body.id, bytes]);
    await put(createSecrets(runtime.ids, old).seal(pdf('segredo'), body.id));
    await sealAgain({ sql: runtime.sql, secrets: next });
    const counts = await countSealed(runtime.sql, next.id);
    expect(counts.get(createSecrets(runtime.ids, old).id)).toBeUndefined();
    const [row] = await rows(one);
    expect(next.open(row?.body as Buffer, body.id).equals(pdf('segredo'))).toBe(true);
    await put(runtime.secrets.seal(pdf('segredo'), body.id));
  });
});

describe('bad input', () => {
  test('other types, contents of another type, names with a path, nothing at all', async () => {
    const one = await disputed();
    const refused = async (contents: Buffer, given: Given) => {
      const { status, body } = await give(one, contents, given);
      return [status, body.code];
    };
    expect(await refused(pdf(''), { type: 'image/webp' })).toEqual([415, 'unsupported_media_type']);
    expect(await refused(Buffer.from('{}'), { type: 'application/json' })).toEqual([
      415,
      'unsupported_media_type',
    ]);
    const encoded = { headers: { 'content-encoding': 'gzip' } };
    expect(await refused(pdf(''), encoded)).toEqual([415, 'unsupported_media_type']);
    expect(await refused(pdf(''), { type: 'image/png' })).toEqual([400, 'file_not_accepted']);
    expect(await refused(Buffer.from('<html>'), {})).toEqual([400, 'file_not_accepted']);
    expect(await refused(Buffer.alloc(0), {})).toEqual([400, 'file_not_accepted']);
    for (const name of ['', ' ', '../a.pdf', 'a\\b.pdf', '..', 'a\u0000.pdf', 'x'.repeat(121)])
      expect(await refused(pdf(''), { name }), name).toEqual([400, 'validation_failed']);
    expect(await rows(one)).toEqual([]);
  });

  test('a file is no body of another call', async () => {
    const one = await disputed();
    const answer = await fetch(`${one.of.url}/api/v1/public/disputes/${one.id}/defence`, {
      method: 'POST',
      headers: { authorization: `Bearer ${one.merchant.key}`, 'content-type': 'application/pdf' },
      body: pdf(''),
    });
    const { code } = (await answer.json()) as { code: string };
    expect([answer.status, code]).toEqual([415, 'unsupported_media_type']);
  });

  test('a file of 10 MiB is taken, and one byte more is not, whether its length is announced or not', async () => {
    const one = await disputed();
    const largest = Buffer.concat([pdf(''), Buffer.alloc(fileMostBytes - pdf('').length, 1)]);
    expect((await give(one, largest)).status).toBe(201);
    const more = Buffer.concat([largest, Buffer.of(1)]);
    expect((await give(one, more)).body.code).toBe('body_too_large');
    const unannounced = new Blob([more]).stream() as ReadableStream;
    expect((await give(one, unannounced)).body.code).toBe('body_too_large');
    expect(await rows(one)).toHaveLength(1);
    const [{ id } = { id: '' }] = await rows(one);
    await defend(one, { fileIds: [id] });
    await send(one);
    expect(await truth(one)).toMatchObject([{ sha256: sha256(largest) }]);
  });

  test('more files than a dispute or an account may keep, exactly, also at once', async () => {
    const one = await disputed();
    const answers = await Promise.all(
      Array.from({ length: filesMost + 2 }, (_, n) => give(one, pdf(`${n}`))),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(filesMost);
    expect(new Set(answers.flatMap(({ body }) => body.code ?? []))).toEqual(new Set(['file_limit_reached']));
    const full = await disputed({ merchant: one.merchant });
    const [kept] = await rows(one);
    const fill = (bytes: number) =>
      one.of.database.admin(
        `INSERT INTO dispute_file SELECT f.account_id, gen_random_uuid(), f.dispute_id, f.operation_id, 'x', f.type,
            LEAST(10485760, $2 - 10485760 * (n - 1)), sha256(n::text::bytea), '', f.created_at
          FROM dispute_file f, generate_series(1, ceil($2 / 10485760.0)::integer) AS n WHERE f.id = $1`,
        [kept?.id, bytes],
      );
    const bytes = (await rows(one)).length * pdf('0').length;
    await fill(accountMostBytes - bytes - pdf('x').length);
    expect((await give(full, pdf('xy'))).body.code).toBe('file_storage_full');
    expect((await give(full, pdf('x'))).status).toBe(201);
  });

  test('of another account or an unknown dispute is the same 404, and needs its own permission', async () => {
    const one = await disputed();
    const { body: file } = await give(one, pdf('a'));
    const other = await service.newMerchant();
    for (const id of [one.id, crypto.randomUUID()]) {
      const foreign = { ...one, merchant: other, id };
      expect((await give(foreign, pdf('a'))).body.code).toBe('dispute_not_found');
      const removed = await other.call('DELETE', `/disputes/${id}/files/${file.id}`);
      expect(removed.body.code).toBe('dispute_not_found');
    }
    const mine = await disputed({ merchant: one.merchant });
    expect((await defend(mine, { fileIds: [file.id] })).body.code).toBe('file_not_found');
    const key = await service.newKey(one.merchant.ownerId, ['read', 'charges', 'transfers', 'refunds']);
    const without = { ...one, merchant: { ...one.merchant, key } };
    expect((await give(without, pdf('b'))).body.code).toBe('permission_denied');
    expect(await rows(one)).toHaveLength(1);
  });

  test('what the connection does not take: a text here, files there, nothing anywhere', async () => {
    const one = await disputed();
    expect((await defend(one, { text: 'Entregue.' })).body.code).toBe('not_offered_by_provider');
    expect((await defend(one, {})).body.code).toBe('validation_failed');
    expect((await defend(one, { fileIds: [] })).body.code).toBe('validation_failed');
    const spoken = await disputed({ of: text });
    expect((await give(spoken, pdf('a'))).body.code).toBe('not_offered_by_provider');
    const both = { text: 'Entregue.', fileIds: [crypto.randomUUID()] };
    expect((await defend(spoken, both)).body.code).toBe('not_offered_by_provider');
    const { body } = await defend(spoken, { fileIds: [crypto.randomUUID()] });
    expect(body.code).toBe('not_offered_by_provider');
  });
});

describe('the sending', () => {
  const outcome = async (one: Disputed) => (await shown(one)).defence;
  const answered = async (contents = 'a') => {
    const one = await disputed();
    const { body } = await give(one, pdf(contents));
    await defend(one, { fileIds: [body.id] });
    return { ...one, fileId: body.id };
  };

  test('whose answer is lost is repeated, and the provider keeps each file once', async () => {
    const one = await answered();
    await service.simulator.behave({ defence: 'lose-answer' });
    await send(one);
    expect(await outcome(one)).toMatchObject({ status: 'unknown' });
    await service.simulator.behave({ defence: 'take' });
    await send(one);
    expect(await outcome(one)).toMatchObject({ status: 'sent' });
    expect(await truth(one)).toHaveLength(1);
  });

  test('is refused where the provider says so, and the files can go out again', async () => {
    const one = await answered();
    await service.simulator.behave({ defence: 'refuse' });
    await send(one);
    expect(await outcome(one)).toMatchObject({ status: 'failed', reasonCode: 'provider_refused' });
    await service.simulator.behave({ defence: 'take' });
    expect(await shown(one)).toMatchObject({ files: [{ id: one.fileId }] });
    expect((await defend(one, { fileIds: [one.fileId] })).body).toMatchObject({ status: 'pending' });
    await send(one);
    expect(await outcome(one)).toMatchObject({ status: 'sent' });
  });

  test('of a file that cannot be opened waits, and is reported to a person', async () => {
    const one = await answered();
    const put = (bytes: Buffer) =>
      service.database.admin('UPDATE dispute_file SET body = $2 WHERE id = $1', [one.fileId, bytes]);
    await put(createSecrets(service.runtime.ids, Buffer.alloc(32, 9)).seal(pdf('a'), one.fileId));
    await send(one);
    expect(await outcome(one)).toMatchObject({ status: 'pending' });
    const incidents = await service.database.admin(
      `SELECT kind FROM incident WHERE reference = 'unreadable:evidence:' || $1`,
      [one.fileId],
    );
    expect(incidents).toEqual([{ kind: 'unreadable' }]);
    await put(service.runtime.secrets.seal(pdf('a'), one.fileId));
    await send(one);
    expect(await truth(one)).toHaveLength(1);
  });
});

test('contents go 90 days after they came, once their dispute has ended; name, size and hash stay', async () => {
  const [ended, open] = [await disputed(), await disputed()];
  for (const one of [ended, open]) await give(one, pdf('a'));
  await service.simulator.control('POST', `/control/disputes/${ended.providerId}/reject`);
  await refill(service);
  await stepDisputes(service.runtime, providerOf(service, ended.connection));
  const inDays = (days: number) => ({
    ...service.runtime,
    clock: { ...service.runtime.clock, now: () => service.runtime.clock.now() + days * 86_400_000 },
  });
  await stepDisputeFiles(inDays(89));
  expect((await rows(ended))[0]?.body).not.toBeNull();
  await stepDisputeFiles(inDays(91));
  expect((await rows(ended))[0]).toMatchObject({ body: null, name: 'recibo.pdf' });
  expect((await rows(open))[0]?.body).not.toBeNull();
  expect((await shown(ended)).files).toMatchObject([{ name: 'recibo.pdf', sha256: sha256(pdf('a')) }]);
});
