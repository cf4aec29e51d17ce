import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../ports/clock.ts';
import { systemIds } from '../ports/ids.ts';
import { createMail } from './mail.ts';

test('without a mail server a mail is one file that only its owner reads, and a line end begins no header', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'vintem-mail-'));
  const ids = systemIds(systemClock);
  // The database is away: mails go out all the same.
  const sql = { run: () => Promise.reject(new Error('no database')) };
  const mail = createMail(
    { smtpUrl: null, mailFrom: 'pix@loja.example', dataDir, defaultLanguage: 'pt-BR' },
    { clock: systemClock, ids, sql },
  );
  const en = { subject: 'Hello', text: 'Code 123' };
  await mail.send({
    to: 'ana@loja.example',
    'pt-BR': { subject: 'Olá\r\nBcc: eve@example.com', text: 'Código 123' },
    en,
  });
  await mail.send({ to: null, 'pt-BR': { subject: 'Operador', text: 'x' }, en });
  const folder = join(dataDir, 'mail');
  const names = (await readdir(folder)).sort();
  expect(names).toHaveLength(2);
  const [first = '', second = ''] = await Promise.all(
    names.map((name) => readFile(join(folder, name), 'utf8')),
  );
  expect(first).toMatch(
    /^From: pix@loja\.example\r\nTo: ana@loja\.example\r\nSubject: vintem: Olá Bcc: eve@example\.com\r\n/,
  );
  // Whose language is not known gets both, the installation's first.
  expect(first).toMatch(/\r\n\r\nCódigo 123\n\n—\n\nCode 123\r\n$/);
  // Without an address of its own the operator's mail goes to the sender's.
  expect(second).toContain('To: pix@loja.example\r\n');
  expect((await stat(join(folder, names[0] as string))).mode & 0o777).toBe(0o600);
  await rm(dataDir, { recursive: true });
});

test('a mail for the operator goes to OPERATOR_EMAIL', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'vintem-mail-'));
  const mail = createMail(
    {
      smtpUrl: null,
      mailFrom: 'pix@loja.example',
      operatorEmail: 'ops@company.example',
      dataDir,
      defaultLanguage: 'en',
    },
    {
      clock: systemClock,
      ids: systemIds(systemClock),
      sql: { run: () => Promise.reject(new Error('no database')) },
    },
  );
  const text = { subject: 'An incident', text: 'Open it' };
  await mail.send({ to: null, 'pt-BR': text, en: text });
  const [name = ''] = await readdir(join(dataDir, 'mail'));
  expect(await readFile(join(dataDir, 'mail', name), 'utf8')).toMatch(
    /^From: pix@loja\.example\r\nTo: ops@company\.example\r\n/,
  );
  await rm(dataDir, { recursive: true });
});
