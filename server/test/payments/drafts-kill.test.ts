import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endPrograms, type Running, run } from '@vintem/testkit/command.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { callWith, type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { callerOf } from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDraft } from '../../src/api/transfers/draft.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';

/** kill -9 of the process that confirms a draft, at any moment between the request and its answer. */

const ids = systemIds(systemClock);
const secret = ids.bytes(32).toString('base64');
let service: Service;
let dataDir: string;
let env: Record<string, string>;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'vintem-drafts-kill-'));
  service = await openService({ env: { DATA_DIR: dataDir, VINTEM_SECRET: secret } });
  env = {
    DATABASE_URL: service.database.url,
    DATA_DIR: dataDir,
    VINTEM_SECRET: secret,
    SIMULATOR_URL: service.simulator.url,
    SIMULATOR_PORT: 'off',
    LOG_LEVEL: 'error',
    RATE_LIMITS: 'off',
  };
});
afterAll(async () => {
  await endPrograms();
  await service?.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function startApi(): Promise<{ program: Running; url: string }> {
  const program = run(['api'], { ...env, PORT: String(await freePort()) });
  return { program, url: (await program.line('vintem api ready')).split(' ').at(-1) as string };
}

async function codeOf(paymentId: string): Promise<string> {
  const folder = join(dataDir, 'mail');
  for (const name of await readdir(folder)) {
    const text = name.endsWith('.eml') ? await readFile(join(folder, name), 'utf8') : '';
    if (text.includes(paymentId)) return /^Código: (\d{6})$/m.exec(text)?.[1] ?? '';
  }
  throw new Error('no mail');
}

async function newDraft(merchant: Merchant, pixKey: string): Promise<{ id: string; code: string }> {
  const order = { amountCents: 1000, pixKey, pixKeyType: 'EMAIL' as const, description: '' };
  const asked = { ...order, requestKey: ids.uuid() };
  const { id } = await createDraft(
    service.runtime,
    await callerOf(service, merchant),
    asked,
    'ana@loja.example',
  );
  return { id, code: await codeOf(id) };
}

const confirmAt = (url: string, merchant: Merchant, draft: { id: string; code: string }) =>
  callWith(`${url}/api/v1/public`, merchant.key)('POST', `/pix/transfers/${draft.id}/confirm`, {
    code: draft.code,
  });

test('killed while it confirms: each draft is confirmed once or not at all, repeats answer by state, nothing is paid twice', async () => {
  const merchant = await service.newMerchant();
  await merchant.receive(50_000);
  const drafts: { id: string; code: string; killed: 'in the act' | 'on its way' }[] = [];

  // On its way: the provider has it and says nothing, so the commit is done and the send under way.
  const onItsWay = await newDraft(merchant, 'hang@simulator.example');
  const first = await startApi();
  const lost = confirmAt(first.url, merchant, onItsWay).catch(() => null);
  await until(async () => (await service.simulator.payout(onItsWay.id)) !== undefined);
  first.program.kill('SIGKILL');
  await first.program.exit;
  expect(await lost).toBeNull();
  drafts.push({ ...onItsWay, killed: 'on its way' });

  // In the act: the code's hash alone takes some 50 ms, the commit and the send a few; the kill comes anywhere in it.
  for (const afterMs of [20, 60, 75, 90, 120]) {
    const { program, url } = await startApi();
    const draft = await newDraft(merchant, 'complete@simulator.example');
    const answer = confirmAt(url, merchant, draft).catch(() => null);
    await systemClock.sleep(afterMs);
    program.kill('SIGKILL');
    await program.exit;
    await answer;
    drafts.push({ ...draft, killed: 'in the act' });
  }

  for (const draft of drafts) {
    const before = (await merchant.call('GET', `/payments/${draft.id}`)).body.status;
    const again = await confirmAt(service.url, merchant, draft);
    if (before === 'draft') expect(again.status).toBe(200);
    else
      expect([again.status, again.body.code, again.body.paymentId]).toEqual([400, 'not_a_draft', draft.id]);
    if (draft.killed === 'on its way') expect(before).not.toBe('draft');
  }
  const final = async (id: string) =>
    (await merchant.call('GET', `/payments/${id}`)).body.status === 'completed';
  await until(async () => (await Promise.all(drafts.map(({ id }) => final(id)))).every(Boolean));
  for (const { id } of drafts) expect(await service.simulator.payout(id)).toMatchObject({ timesAccepted: 1 });
  expect((await merchant.call('GET', '/account')).body).toMatchObject({
    balanceCents: 50_000 - drafts.length * 1000,
    reservedWithdrawalCents: 0,
  });
  expect(await violations(service)).toEqual([]);
});
