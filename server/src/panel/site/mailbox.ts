import { timingSafeEqual } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import type { ApiScope } from '../../edge/edge.ts';
import { type Config, isTrial } from '../../ground/config.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { hasLiveConnection } from '../../operate/connections/connections.sql.ts';
import type { Sql } from '../../ports/sql.ts';
import { PanelError } from '../errors.ts';
import { MailListSchema } from '../schema/schema.ts';

const mailsShown = 50;

/** Whether mails are kept here and shown: a test installation without a mail server, a public address or a proxy. */
export const hasMailbox = ({ config }: { config: Config }): boolean =>
  isTrial(config) && config.smtpUrl === null && config.trustedProxies.length === 0;

/** The secret of the mailbox page: only the reader of `start`'s output knows it. */
const mailboxToken = (secrets: Pick<Secrets, 'derive'>): string =>
  secrets.derive('mailbox').toString('base64url');

/** The link that `start` prints. The token stands behind `#`: it reaches neither the server's address line nor a proxy's log. */
export const mailboxLink = (publicUrl: string, secrets: Pick<Secrets, 'derive'>): string =>
  `${publicUrl}/mailbox#${mailboxToken(secrets)}`;

/**
 * The mails of a test installation, the newest first, without signing in: the mail that one needs to sign in is among them.
 * So only for a browser on this machine that asks for us by our own name (another site's name may point here as well) and shows the token:
 * a proxy on this machine makes every stranger look local, and often says nothing of itself.
 */
export interface MailboxDeps {
  sql: Sql;
  secrets: Pick<Secrets, 'derive'>;
  dataDir: string;
  /** Where requests of the panel come from. */
  origins: ReadonlySet<string>;
}

export function mailboxRoutes(api: ApiScope, deps: MailboxDeps): void {
  const folder = join(deps.dataDir, 'mail');
  const expected = Buffer.from(mailboxToken(deps.secrets));
  const showsToken = ({ headers }: FastifyRequest): boolean => {
    const given = Buffer.from(String(headers['x-mailbox-token'] ?? ''));
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  api.get(
    '/mailbox',
    {
      schema: {
        tags: ['Mailbox'],
        summary: 'Mails of a test installation',
        response: { 200: MailListSchema },
      },
      config: { api: { permissions: ['read'], policy: 'reads', operation: 'syntax' } },
    },
    async (request) => {
      if (!isLocal(request, deps.origins) || !showsToken(request)) throw new PanelError('not_found');
      if (await hasLiveConnection(deps.sql)) throw new PanelError('not_found');
      const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml'));
      // Names are ordered by the time they were made.
      const newest = names.sort().reverse().slice(0, mailsShown);
      const mails = await Promise.all(
        newest.map(async (name) => mailOf(name.slice(0, -4), await readFile(join(folder, name), 'utf8'))),
      );
      return { mails };
    },
  );
}

/** Sent by proxies; a browser sends none of them. */
const forwardingHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
] as const;

const isLocal = (request: FastifyRequest, origins: ReadonlySet<string>): boolean =>
  /^(?:127\.|::1$|::ffff:127\.)/.test(request.socket.remoteAddress ?? '') &&
  /^(?:127\.|::1$|::ffff:127\.)/.test(request.ip) &&
  !forwardingHeaders.some((name) => request.headers[name] !== undefined) &&
  [...origins].some((origin) => new URL(origin).host === request.headers.host);

function mailOf(id: string, source: string) {
  const [head = '', ...rest] = source.split('\r\n\r\n');
  const header = (name: string): string =>
    head
      .split('\r\n')
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim() ?? '';
  return {
    id,
    to: header('to'),
    subject: header('subject'),
    date: header('date'),
    text: rest.join('\r\n\r\n').trim(),
  };
}
