import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import type { ApiScope } from '../http/edge.ts';
import { PanelError } from './errors.ts';
import type { PanelHouse } from './house.ts';
import { MailListSchema } from './schema.ts';

const mailsShown = 50;

/** Whether mails are kept here and shown: a test installation without a mail server. Never beside a live provider. */
export const hasMailbox = ({ config }: Pick<PanelHouse, 'config'>): boolean =>
  config.provider === null && config.smtpUrl === null;

/**
 * The mails of a test installation, the newest first, without signing in: the mail that one needs to sign in is among them.
 * So only for a browser on this machine that asks for us by our own name (another site's name may point here as well).
 */
export function mailboxRoutes(api: ApiScope, house: PanelHouse): void {
  const folder = join(house.config.dataDir, 'mail');
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
      if (!isLocal(request, house.origins)) throw new PanelError('not_found');
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

const isLocal = (request: FastifyRequest, origins: ReadonlySet<string>): boolean =>
  /^(?:127\.|::1$|::ffff:127\.)/.test(request.socket.remoteAddress ?? '') &&
  /^(?:127\.|::1$|::ffff:127\.)/.test(request.ip) &&
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
