import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import { isLoopbackHost } from './hosts.ts';
import type { Letterhead } from './letterhead.ts';
import { logoCid, mailHtml } from './mail-html.ts';

type Language = 'pt-BR' | 'en';

/** A mail in one language. */
export interface MailText {
  /** One line, without a sender's name: `vintem: ` or that of the letterhead is put in front. */
  subject: string;
  /**
   * Plain text. Blocks stand between empty lines; one whose lines are all `  Label   value` is a table, one with nothing but an address a
   * link, `Label: https://…` a button, `Label: 123456` a code. The HTML part is made from it, so that both parts say the same.
   */
  text: string;
}

/** A mail to a person: in every language, so that none is forgotten. */
export type Letter = Record<Language, MailText> & {
  /** An address; null: the operator of the installation. */
  to: string | null;
  /** Whose paper it is; absent or null: ours. */
  letterhead?: Letterhead | null;
  /** In front for an address that the service does not know; absent: the installation's. */
  first?: Language | undefined;
  /** The address at which its receiver ends such mails, by one press in a program that reads mail (RFC 8058); absent: they concern an account. */
  unsubscribe?: string;
};

export interface Mail {
  /** Resolves when the server has taken it, or when it is on disk. */
  send(letter: Letter): Promise<void>;
}

const selectLanguage: Statement = {
  name: 'mail_language',
  text: 'SELECT language FROM panel_user WHERE email = $1',
};

/** Null: no person has this address. */
const findLanguage = async (sql: Queries, email: string): Promise<Language | null> =>
  (await sql.run<{ language: Language }>(selectLanguage, [email]))[0]?.language ?? null;

const saoPaulo = new Intl.DateTimeFormat('pt-BR', {
  timeZone: 'America/Sao_Paulo',
  dateStyle: 'short',
  timeStyle: 'short',
});

/** `22/11/2026 18:05 (Brasília)`: a time as mails to people of an account name it, in either language. */
export const brasiliaTime = (ms: number): string => `${saoPaulo.format(ms).replace(',', '')} (Brasília)`;

const timeoutMs = 20_000;

interface MailSettings {
  smtpUrl: string | null;
  smtpWithoutTls?: boolean;
  mailFrom: string | null;
  operatorEmail?: string | null;
  dataDir: string;
}

/**
 * Each person gets their own language. Unknown addresses and the operator get both, the installation's language first, or that of
 * the one who invites them.
 * Sent over SMTP as text and HTML, where nodemailer encodes subjects (RFC 2047). Without an SMTP server each mail is a file under
 * `DATA_DIR/mail`, with headers in UTF-8 (RFC 6532), readable only by its owner: the text alone, for the eyes of those who try things.
 */
export function createMail(
  config: MailSettings & { defaultLanguage: Language },
  { clock, ids, sql }: { clock: Clock; ids: Ids; sql: Queries },
): Mail {
  const from = config.mailFrom ?? 'vintem@localhost';
  const operator = config.operatorEmail ?? from;
  const partsFor = async (letter: Letter): Promise<Parts> => {
    // Without the database the mail goes out all the same.
    const known = letter.to === null ? null : await findLanguage(sql, letter.to).catch(() => null);
    const languages = known === null ? inBoth(letter.first ?? config.defaultLanguage) : ([known] as const);
    return languages.map((language) => ({ language, ...letter[language] }));
  };
  if (config.smtpUrl === null) {
    const folder = join(config.dataDir, 'mail');
    return {
      send: async (letter) => {
        const { to } = letter;
        const parts = await partsFor(letter);
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const name = ids.uuid();
        const headers = [
          ...Object.entries(unsubscribeHeaders(letter)).map(([field, value]) => `${field}: ${value}`),
          `From: ${from}`,
          `To: ${oneLine(to ?? operator)}`,
          `Subject: ${oneLine(subjectOf(letter, parts))}`,
          `Date: ${new Date(clock.now()).toUTCString()}`,
          `Message-ID: <${name}@vintem>`,
          'MIME-Version: 1.0',
          'Content-Type: text/plain; charset=utf-8',
          'Content-Transfer-Encoding: 8bit',
        ];
        const path = join(folder, `${name}.eml`);
        // Under another name until it is whole: nothing that watches the folder reads half a mail.
        await writeFile(`${path}.part`, `${headers.join('\r\n')}\r\n\r\n${textOf(parts)}\r\n`, {
          mode: 0o600,
        });
        await rename(`${path}.part`, path);
      },
    };
  }
  // Read with the first mail: a start that sends none goes without.
  const opened = () => openTransport(config, config.smtpUrl as string);
  let transport: ReturnType<typeof opened> | undefined;
  return {
    send: async (letter) => {
      const { to, letterhead = null } = letter;
      const parts = await partsFor(letter);
      transport ??= opened();
      const sending = (await transport).sendMail({
        from,
        // As one address: a text would be read as a list of them.
        to: to === null ? operator : { name: '', address: to },
        subject: subjectOf(letter, parts),
        text: textOf(parts),
        html: mailHtml(parts, letterhead),
        headers: unsubscribeHeaders(letter),
        attachments: letterhead?.logo ? [logoOf(letterhead.logo)] : [],
      });
      await sending.catch((error: unknown) => {
        throw refusalOf(error);
      });
    },
  };
}

const unsubscribeHeaders = ({ unsubscribe }: Letter): Record<string, string> =>
  unsubscribe === undefined
    ? {}
    : { 'List-Unsubscribe': `<${unsubscribe}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };

/** A refusal of the mail server, without its words: they repeat the address that it refuses, and errors are logged. */
export class MailRefused extends Error {
  override name = 'MailRefused';
  /** It does not know the receiver, and will answer the same again (RFC 5321, 4.2.1). */
  readonly isPermanent: boolean;
  constructor(code: number, command: unknown, words: string) {
    const status = /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(words)?.[0];
    super(`the mail server answered ${status ?? code} to ${command}`);
    this.isPermanent = command === 'RCPT TO' && code >= 500 && code < 600;
  }
}

function refusalOf(error: unknown): unknown {
  const { responseCode, command, response } = error as Record<
    'responseCode' | 'command' | 'response',
    unknown
  >;
  return typeof responseCode === 'number' ? new MailRefused(responseCode, command, String(response)) : error;
}

type Parts = readonly (MailText & { language: Language })[];

const inBoth = (first: Language): readonly Language[] => [first, first === 'en' ? 'pt-BR' : 'en'];

const subjectOf = ({ letterhead }: Letter, [first]: Parts): string =>
  `${letterhead?.name ?? 'vintem'}: ${first?.subject}`;

const textOf = (parts: Parts): string =>
  parts.map(({ text }, at) => (at < parts.length - 1 ? text.trimEnd() : text)).join('\n\n—\n\n');

/** In the mail itself: a picture on a server would say when and where a mail is read, and programs that read mail show none at first. */
const logoOf = (content: Buffer) => ({
  filename: 'logo.png',
  content,
  contentType: 'image/png',
  contentDisposition: 'inline' as const,
  cid: logoCid,
});

async function openTransport({ smtpWithoutTls }: Pick<MailSettings, 'smtpWithoutTls'>, url: string) {
  const { createTransport } = await import('nodemailer');
  return createTransport({
    url,
    // STARTTLS, or no mail: a server on the way could otherwise hide that TLS is offered (RFC 3207, 6).
    requireTLS: !smtpWithoutTls && !isLoopbackHost(new URL(url).hostname),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  });
}

/** Where mails go, in words. Connects and signs in, sends nothing. @throws Error when the server does not let us in */
export async function checkMail(config: MailSettings): Promise<string> {
  if (config.smtpUrl === null) return `kept under ${join(config.dataDir, 'mail')}, since SMTP_URL is not set`;
  const transport = await openTransport(config, config.smtpUrl);
  try {
    await transport.verify();
    return `the server accepts the credentials; mails for the operator go to ${config.operatorEmail ?? config.mailFrom}`;
  } finally {
    transport.close();
  }
}

/** A line end in a header would begin another one. */
const oneLine = (text: string): string => text.replace(/[\r\n]+/g, ' ');
