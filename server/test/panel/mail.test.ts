import { Writable } from 'node:stream';
import { openService, type Service } from '@vintem/testkit/service.ts';
import { callerOf } from '@vintem/testkit/settlement.ts';
import { openSmtp, type SmtpServer } from '@vintem/testkit/smtp.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { createMail } from '../../src/ground/mail.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import { createDraft, resendCode } from '../../src/transfers/draft.ts';

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
  'pt-BR': { subject: 'Código de confirmação', text: 'Código 123456' },
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
  const bodies = smtp.got.map((message) => {
    const [head = '', ...rest] = message.split('\r\n\r\n');
    const text = rest.join('\r\n\r\n');
    if (/base64/i.test(head)) return Buffer.from(text, 'base64').toString();
    return Buffer.from(
      text
        .replace(/=\r\n/g, '')
        .replace(/=([0-9A-F]{2})/g, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    ).toString();
  });
  return /Code: (\d{6})/.exec(bodies.filter((text) => text.includes(paymentId)).at(-1) ?? '')?.[1] ?? '';
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
  expect(Buffer.from(bytes, 'latin1').toString()).toBe('Código de confirmação');
  expect(portuguese).not.toContain('Code 123456');
  const english = await person('en');
  expect(english).toMatch(/^Subject: Confirmation code\r$/m);
  expect(english).toContain('Code 123456');
  expect(english).not.toContain('digo 123456');
});

test.each(['refuse', 'down'] as const)(
  'a mail server that is %s: the caller hears it, the draft stays, and another code can be asked for',
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

test('a mail server that takes the connection and says nothing keeps no caller for ever', async () => {
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
