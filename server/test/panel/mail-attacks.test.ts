import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { openSmtp } from '@vintem/testkit/smtp.ts';
import { expect, test } from 'vitest';
import { createMail, type Letter } from '../../src/ground/mail.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';

/** Names, descriptions and addresses of people stand in mails. What they write must not become a header, a command or another mail. */

const needs = { clock: systemClock, ids: systemIds(systemClock), sql: { run: async () => [] } };
const settings = { mailFrom: 'pix@loja.example', defaultLanguage: 'en' as const };
const hostile = 'Ana\r\nBcc: thief@evil.example\r\nX-Own: 1\r\n\r\nanother body';
const text = 'before\r\n.\r\nMAIL FROM:<thief@evil.example>\r\nRCPT TO:<thief@evil.example>\r\nDATA\r\nafter';
const words = { subject: hostile, text };
const letter: Letter = { to: 'ana@loja.example\r\nBcc: thief@evil.example', 'pt-BR': words, en: words };

const headersOf = (message: string) => message.split('\r\n\r\n')[0]?.split('\r\n') ?? [];
const namesOf = (message: string) =>
  headersOf(message)
    .filter((line) => !/^\s/.test(line))
    .map((line) => line.split(':')[0]?.toLowerCase());

test('text of people begins no header and no second mail, in the file', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'vintem-mail-'));
  await createMail({ ...settings, smtpUrl: null, dataDir }, needs).send(letter);
  const files = await readdir(join(dataDir, 'mail'));
  expect(files).toHaveLength(1);
  const message = await readFile(join(dataDir, 'mail', files[0] as string), 'utf8');
  expect(namesOf(message)).toEqual([
    'from',
    'to',
    'subject',
    'date',
    'message-id',
    'mime-version',
    'content-type',
    'content-transfer-encoding',
  ]);
  await rm(dataDir, { recursive: true });
});

test('text of people begins no header, no command and no second mail, over SMTP', async () => {
  const smtp = await openSmtp();
  await createMail({ ...settings, smtpUrl: smtp.url, dataDir: '' }, needs).send(letter);
  expect(smtp.got).toHaveLength(1);
  const names = namesOf(smtp.got[0] as string);
  expect(names).not.toContain('bcc');
  expect(names).not.toContain('x-own');
  expect(names.filter((name) => name === 'to' || name === 'subject')).toHaveLength(2);
  expect(smtp.got[0]).toContain('after');
  await smtp.close();
});

test('one address is one receiver, whatever is written in it', async () => {
  const smtp = await openSmtp();
  const mail = createMail({ ...settings, smtpUrl: smtp.url, dataDir: '' }, needs);
  for (const to of ['a1<thief@evil.example>', 'a,thief@evil.example', 'a;thief@evil.example'])
    await mail.send({ ...letter, to }).catch(() => {});
  expect(smtp.receivers.filter((one) => one === 'thief@evil.example')).toEqual([]);
  await smtp.close();
});

test('what the server says of a receiver that it refuses is not in the error, which is logged', async () => {
  const smtp = await openSmtp();
  smtp.behave('refuse');
  const sent = createMail({ ...settings, smtpUrl: smtp.url, dataDir: '' }, needs).send({
    ...letter,
    to: 'ana@loja.example',
  });
  const error: unknown = await sent.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ message: 'the mail server answered 5.1.1 to RCPT TO', isPermanent: true });
  expect(inspect(error)).not.toContain('ana@');
  await smtp.close();
});
