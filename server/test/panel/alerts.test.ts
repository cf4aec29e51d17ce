import { mailsTo } from '@vintem/testkit/panel.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { deliver, fillQueryLimit, later, leave, receivedItem } from '@vintem/testkit/settlement.ts';
import { shiftedClock } from '@vintem/testkit/shifted-clock.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import type { Letter, Mail } from '../../src/ground/mail.ts';
import { stepDisputes } from '../../src/jobs/poll.ts';
import { createUnknownTransferAlerts } from '../../src/jobs/unknown-transfer-alerts.ts';
import { singlePriority } from '../../src/money/intent.ts';
import { createAlerts } from '../../src/operate/accounts/alerts.ts';

/** Who gets mails about money that needs a person. The test runs each step by hand. */

let service: Service;
let merchant: Merchant;
const clock = shiftedClock();
const letters: Letter[] = [];
let refuses = false;
const mail: Mail = {
  send: async (letter) => {
    if (refuses) throw new Error('the mail server is down');
    letters.push(letter);
  },
};
const round = () =>
  createAlerts(
    { sql: service.database.sql, clock, mail, log: createLog('silent') },
    'https://pix.example',
  ).step();

beforeAll(async () => {
  service = await openService({ worker: false });
  merchant = await service.newMerchant();
  await merchant.receive(10_000);
});
afterAll(() => service?.close());

async function person(accountId: string, role: string, verified = true): Promise<string> {
  const id = service.runtime.ids.uuid();
  const email = `${role}-${id.slice(-6)}@loja.example`;
  await service.database.admin(
    `INSERT INTO panel_user (id, name, email, email_verified, created_at, updated_at)
     VALUES ('${id}', '${role}', '${email}', ${verified}, now(), now())`,
  );
  await service.database.admin(
    `INSERT INTO panel_member (account_id, user_id, role, created_at) VALUES ('${accountId}', '${id}', '${role}', now())`,
  );
  return email;
}

test('one mail reports transfers unknown for 15 minutes, once, to the people who move money', async () => {
  const told = [await person(merchant.ownerId, 'finance'), await person(merchant.ownerId, 'owner')];
  await person(merchant.ownerId, 'developer');
  await person(merchant.ownerId, 'admin', false);
  const ids = [await leave(service, merchant, 'hang'), await leave(service, merchant, 'hang')];
  // One was refused where the look that proves it failed.
  await service.database.admin(
    `UPDATE intent SET refused = true, priority = ${singlePriority} WHERE payment_id = '${ids[1]}'`,
  );
  while (await createUnknownTransferAlerts(later(service.runtime, 16 * 60_000)).step());
  clock.skip(16 * 60_000);
  refuses = true;
  await round();
  refuses = false;
  await round();
  expect(letters).toEqual([]);
  // A failed mail is tried again when its claim has ended, not at once by every process.
  clock.skip(601_000);
  await Promise.all([round(), round()]);
  expect(letters.map(({ to }) => to).sort()).toEqual(told.sort());
  for (const { text } of letters.flatMap((letter) => [letter['pt-BR'], letter.en])) {
    for (const id of ids) expect(text).toContain(id);
    expect(text).toContain('R$ 10,00');
    expect(text).not.toContain('@simulator.example');
  }
  clock.skip(3_600_000);
  await round();
  expect(letters).toHaveLength(told.length);
});

test('a transfer that ended before the mail is not reported', async () => {
  letters.length = 0;
  const id = await leave(service, merchant, 'hang');
  while (await createUnknownTransferAlerts(later(service.runtime, 16 * 60_000)).step());
  await service.database.admin(`UPDATE payment SET status = 'pending' WHERE id = '${id}'`);
  clock.skip(16 * 60_000);
  await round();
  await service.database.admin(`UPDATE payment SET status = 'unknown' WHERE id = '${id}'`);
  clock.skip(601_000);
  await round();
  expect(letters).toEqual([]);
});

test('a mail reports an incident to the operator once, also an incident of the installation itself', async () => {
  letters.length = 0;
  await deliver(service, [receivedItem(crypto.randomUUID(), 777, `E${'9'.repeat(31)}`)]);
  await until(
    async () => (await service.database.admin('SELECT FROM incident WHERE amount_cents = 777')).length === 1,
  );
  clock.skip(60_000);
  await Promise.all([round(), round()]);
  expect(letters).toHaveLength(1);
  expect(letters[0]).toMatchObject({
    to: null,
    en: { subject: '1 incident to decide' },
    'pt-BR': { subject: '1 incidente a decidir' },
  });
  expect(letters[0]?.en.text).toMatch(/R\$ 7,77/);
  clock.skip(3_600_000);
  await round();
  expect(letters).toHaveLength(1);
});

test('an incident that was resolved before the mail is not reported', async () => {
  letters.length = 0;
  await deliver(service, [receivedItem(crypto.randomUUID(), 778, `E${'8'.repeat(31)}`)]);
  await until(
    async () =>
      (
        await service.database.admin(
          `UPDATE incident SET state = 'resolved', resolved_at = now(), resolution = '{}' WHERE amount_cents = 778 RETURNING id`,
        )
      ).length === 1,
  );
  clock.skip(60_000);
  await round();
  expect(letters).toEqual([]);
});

test('a mail reports a large transfer of a key to the people who move money, at most once an hour', async () => {
  const shop = await service.newMerchant();
  const owner = await person(shop.ownerId, 'owner');
  await person(shop.ownerId, 'viewer');
  for (let n = 0; n < 8; n++) await shop.receive(200_000);
  const refused = await shop.transfer({ amountCents: 500_000, pixKey: 'refuse-in-answer@simulator.example' });
  expect(refused.body.code).toBe('provider_refused');
  const small = await shop.transfer({ amountCents: 499_999 });
  expect(small.status).toBe(201);
  const large = await shop.transfer({ amountCents: 500_000 });
  await shop.transfer({ amountCents: 500_000 });
  await until(async () => (await mailsTo(service, owner)).length > 0);
  const mails = await mailsTo(service, owner);
  expect(mails).toHaveLength(1);
  expect(mails[0]).toContain(large.body.id);
  expect(mails[0]).toContain('R$ 5.000,00');
});

test('A mail about a dispute names the payer, what was sold and the deadline, and its button leads to the payment', async () => {
  letters.length = 0;
  const shop = await service.newMerchant();
  const owner = await person(shop.ownerId, 'owner');
  const id = await shop.paidCharge({
    amountCents: 32_000,
    payerName: 'Lia Prado',
    description: 'Bolo de festa',
  });
  await service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/dispute`, {});
  const provider = service.runtime.providers.get('simulator');
  if (!provider) throw new Error('no simulator');
  await service.database.admin("UPDATE job SET due_at = 'epoch' WHERE what = 'disputes'");
  await fillQueryLimit(service);
  await stepDisputes(service.runtime, provider);
  clock.skip(3_600_000);
  await round();
  const letter = letters.find(({ to }) => to === owner);
  expect(letter?.['pt-BR'].subject).toBe('contestação de R$ 320,00 de Lia Prado (MED)');
  expect(letter?.['pt-BR'].text).toMatch(
    /Pagador +Lia Prado\n +Descrição +Bolo de festa\n +Valor +R\$ 320,00\n[\s\S]*Defesa até/,
  );
  expect(letter?.['pt-BR'].text).toContain(`Escrever a defesa: https://pix.example/pagamentos/${id}\n`);
  expect(letter?.en.text).toContain(`Write the defence: https://pix.example/pagamentos/${id}\n`);
});
