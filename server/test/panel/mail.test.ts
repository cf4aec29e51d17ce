import { Writable } from 'node:stream';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { callerOf } from '@vintem/testkit/settlement.ts';
import { openSmtp, partsOf, type SmtpServer, textIn } from '@vintem/testkit/smtp.ts';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDraft, resendCode } from '../../src/api/transfers/draft.ts';
import { createLog } from '../../src/ground/log.ts';
import { createMail } from '../../src/ground/mail.ts';
import { mailHtml } from '../../src/ground/mail-html.ts';
import { panelMails } from '../../src/panel/people/mails.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { putLogo, putProfile } from '../../src/store/rows/profile.sql.ts';

/** Codes over a mail server that takes, refuses, hangs, or is not there. */

const ids = systemIds(systemClock);
let service: Service;
let smtp: SmtpServer;
let logged = '';

beforeAll(async () => {
  smtp = await openSmtp();
  service = await openService({ env: { SMTP_URL: smtp.url, MAIL_FROM: 'pix@loja.example' } });
  const into = new Writable({
    write: (line, _encoding, done) => {
      logged += line;
      done();
    },
  });
  service.runtime.log = createLog('trace', into);
});
afterAll(async () => {
  await service?.close();
  await smtp?.close();
});

const letter = (to: string) => ({
  to,
  'pt-BR': { subject: 'Código do envio', text: 'Código 123456' },
  en: { subject: 'Confirmation code', text: 'Code 123456' },
});

const order = () => ({
  amountCents: 1000,
  pixKey: 'maria@loja.example',
  pixKeyType: 'EMAIL' as const,
  description: '',
  requestKey: ids.uuid(),
});

/** The code in the newest mail about a payment. */
function codeIn(paymentId: string): string {
  const mails = smtp.got.map((message) => textIn(message));
  return /Code: (\d{6})/.exec(mails.filter((text) => text.includes(paymentId)).at(-1) ?? '')?.[1] ?? '';
}

async function orderer() {
  const merchant = await service.newMerchant();
  await merchant.receive(5000);
  return { merchant, caller: await callerOf(service, merchant) };
}

test('a code goes out over SMTP, to its person and from our address, and confirms the draft', async () => {
  const { merchant, caller } = await orderer();
  const draft = await createDraft(service.runtime, caller, order(), 'ana@loja.example');
  const message = smtp.got.at(-1) ?? '';
  expect(message).toMatch(/^From: pix@loja\.example/m);
  expect(message).toMatch(/^To: ana@loja\.example/m);
  const code = codeIn(draft.id);
  expect(/^Subject: (.*)$/m.exec(message)?.[1]).not.toContain(code);
  const answer = await merchant.call('POST', `/pix/transfers/${draft.id}/confirm`, { code });
  expect(answer.status).toBe(200);
});

test('A reminder names the address that ends reminders in its head, and no other mail does', async () => {
  const unsubscribe = 'https://pay.example/pay/AbC-123';
  await service.runtime.mail.send({ ...letter('bia@loja.example'), unsubscribe });
  const message = smtp.got.at(-1) ?? '';
  expect(message).toMatch(/^List-Unsubscribe: <https:\/\/pay\.example\/pay\/AbC-123>\r$/m);
  expect(message).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
  await service.runtime.mail.send(letter('bia@loja.example'));
  expect(smtp.got.at(-1)).not.toContain('List-Unsubscribe');
});

test('each person gets their own language, and a subject with accents is encoded', async () => {
  const person = async (language: 'pt-BR' | 'en') => {
    const email = `${ids.uuid()}@loja.example`;
    await service.database.admin(
      `INSERT INTO panel_user (id, name, email, email_verified, language, created_at, updated_at)
       VALUES ('${ids.uuid()}', 'Ana', '${email}', true, '${language}', now(), now())`,
    );
    await service.runtime.mail.send(letter(email));
    return smtp.got.at(-1) ?? '';
  };
  const portuguese = await person('pt-BR');
  const [, charset, encoded = ''] = /^Subject: =\?([^?]+)\?Q\?([^?]*)\?=\r$/im.exec(portuguese) ?? [];
  expect(charset).toBe('UTF-8');
  const bytes = encoded
    .replaceAll('_', ' ')
    .replace(/=([0-9A-F]{2})/g, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  expect(Buffer.from(bytes, 'latin1').toString()).toBe('vintem: Código do envio');
  expect(portuguese).not.toContain('Code 123456');
  const english = await person('en');
  expect(english).toMatch(/^Subject: vintem: Confirmation code\r$/m);
  expect(english).toContain('Code 123456');
  expect(english).not.toContain('digo 123456');
});

test.each(['refuse', 'down'] as const)(
  'a mail server that is %s: the caller sees it, the draft stays, and another code can be requested',
  async (trouble) => {
    const { merchant, caller } = await orderer();
    const port = Number(new URL(smtp.url).port);
    if (trouble === 'down') await smtp.close();
    else smtp.behave('refuse');
    const asked = order();
    await expect(createDraft(service.runtime, caller, asked, 'ana@loja.example')).rejects.toThrow();
    if (trouble === 'down') smtp = await openSmtp(port);
    else smtp.behave('take');
    // The same request again is the same draft, as with every requestKey.
    const draft = await createDraft(service.runtime, caller, asked, 'ana@loja.example');
    expect((await merchant.call('GET', `/payments/${draft.id}`)).body.status).toBe('draft');
    expect((await merchant.call('GET', '/account')).body.reservedWithdrawalCents).toBe(0);
    await resendCode(service.runtime, caller, draft.id);
    const answer = await merchant.call('POST', `/pix/transfers/${draft.id}/confirm`, {
      code: codeIn(draft.id),
    });
    expect(answer.status).toBe(200);
  },
);

test('a server that offers no TLS gets no mail, unless the setting says so; one on this machine does', async () => {
  const plain = await openSmtp();
  const { port } = new URL(plain.url);
  const mailTo = (host: string, smtpWithoutTls: boolean) =>
    createMail(
      {
        smtpUrl: `smtp://${host}:${port}`,
        smtpWithoutTls,
        mailFrom: null,
        dataDir: service.dataDir,
        defaultLanguage: 'en',
      },
      { clock: systemClock, ids, sql: service.runtime.sql },
    );
  // An address of this machine that is not one of loopback.
  await expect(mailTo('0.0.0.0', false).send(letter('ana@loja.example'))).rejects.toThrow('STARTTLS');
  expect(plain.got).toEqual([]);
  await mailTo('0.0.0.0', true).send(letter('ana@loja.example'));
  await mailTo('127.0.0.1', false).send(letter('ana@loja.example'));
  expect(plain.got.length).toBe(2);
  await plain.close();
});

test('a mail server that takes the connection and says nothing keeps no caller without an end', async () => {
  const silent = await openSmtp();
  silent.behave('hang');
  const mail = createMail(
    { smtpUrl: silent.url, mailFrom: null, dataDir: service.dataDir, defaultLanguage: 'en' },
    { clock: systemClock, ids, sql: service.runtime.sql },
  );
  await expect(mail.send(letter('ana@loja.example'))).rejects.toThrow();
  expect(silent.connections()).toBe(1);
  await silent.close();
});

test('a mail to the people of an account has name, CNPJ, colour and logo of its merchant; the plain text says the same', async () => {
  const { merchant, caller } = await orderer();
  const pixels = new PNG({ width: 480, height: 80 });
  const logo = PNG.sync.write(pixels);
  const { sql } = service.cellOf(merchant);
  const displayName = 'Loja <b>Azul</b> & "Filhos"';
  const shown = {
    displayName,
    legalName: null,
    cnpj: '11222333000181',
    colour: '#1d4ed8',
    updatedAt: Date.now(),
  };
  await putProfile(sql, caller.accountId, shown);
  await putLogo(sql, caller.accountId, logo, Date.now());
  const draft = await createDraft(service.runtime, caller, order(), 'ana@loja.example');
  const message = smtp.got.at(-1) ?? '';
  const [text, html, picture, ...more] = partsOf(message);
  expect(more).toEqual([]);
  expect(text?.type).toBe('text/plain');
  expect(html?.type).toBe('text/html');
  const page = html?.content.toString() ?? '';
  expect(page).toContain('Loja &lt;b&gt;Azul&lt;/b&gt; &amp; &quot;Filhos&quot;');
  expect(page).not.toContain('<b>Azul');
  expect(page).toContain('CNPJ 11.222.333/0001-81');
  expect(page).toContain('background:#1d4ed8;');
  // 480 × 80 fits into 120 × 40 as 120 × 20.
  expect(page).toContain('<img src="cid:logo@vintem" alt="" width="120" height="20"');
  expect(picture).toMatchObject({ type: 'image/png', id: '<logo@vintem>', disposition: 'inline' });
  expect(picture?.content).toEqual(logo);
  const code = codeIn(draft.id);
  expect(code).toMatch(/^\d{6}$/);
  for (const said of [
    code,
    draft.id,
    'R$ 10,00',
    'Nunca pedimos este código',
    'We never ask for this code',
  ]) {
    expect(text?.content.toString()).toContain(said);
    expect(page).toContain(said);
  }
  // Nothing is fetched when it is read, and nothing runs.
  expect(page).not.toMatch(/https?:\/\/|<script|url\(|@import|<link/);
  expect(/^Subject: (.*)$/m.exec(message)?.[1]).toContain('Loja');
  expect(message).toMatch(/^From: pix@loja\.example/m);
});

test('a merchant without a profile, the operator and what concerns a person get our own letterhead', async () => {
  const { caller } = await orderer();
  await createDraft(service.runtime, caller, order(), 'ana@loja.example');
  const ofAccount = smtp.got.at(-1) ?? '';
  await service.runtime.mail.send({ ...letter(''), to: null });
  const ofOperator = smtp.got.at(-1) ?? '';
  const config = { publicUrl: service.url };
  await panelMails({ config, mail: service.runtime.mail }).passwordWasReset('ana@loja.example');
  const ofPerson = smtp.got.at(-1) ?? '';
  for (const message of [ofAccount, ofOperator, ofPerson]) {
    const parts = partsOf(message);
    expect(parts.map(({ type }) => type)).toEqual(['text/plain', 'text/html']);
    expect(parts[1]?.content.toString()).toMatch(/background:#0f4f3e;.*>vintem</);
    expect(message).toMatch(/^Subject: =\?UTF-8\?Q\?vintem=3A|^Subject: vintem: /m);
  }
});

test('an address alone in its block is a link, and columns are a table, in dark mode as well', () => {
  const text = 'Open this:\n\nhttps://pix.example/convite#a"b\n\n  When   now\n  Where  <here>\n';
  const page = mailHtml([{ language: 'en', subject: 'a < b', text }], null);
  expect(page).toContain('<a href="https://pix.example/convite#a&quot;b"');
  expect(page).toContain('>When</td>');
  expect(page).toContain('>&lt;here&gt;</td>');
  expect(page).toContain('<title>a &lt; b</title>');
  expect(page).toContain('@media (prefers-color-scheme: dark)');
});

test('no code is in any line of the log', () => {
  const codes = smtp.got.length;
  expect(codes).toBeGreaterThan(0);
  for (const code of new Set(
    [...logged.matchAll(/(?<![\w.-])(\d{6})(?![\w.-])/g)].map(([, digits]) => digits),
  )) {
    expect(
      smtp.got.some((message) => message.includes(code as string)),
      `${code} was mailed and logged`,
    ).toBe(false);
  }
});
