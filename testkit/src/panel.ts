import { createHmac } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { acceptInvitation, invite } from '../../server/src/panel/people/members.ts';
import type { Role } from '../../server/src/panel/people/roles.ts';
import type { Service } from './service.ts';

export const password = 'girafa azul de patins';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
  body: any;
}

/** A browser's tab: it keeps its cookies and says where a request comes from. */
export interface Tab {
  csrf: string;
  cookie(): string;
  call(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  signIn(email: string, word?: string): Promise<Answer>;
}

export function openTab(service: Pick<Service, 'url'>, always: Record<string, string> = {}): Tab {
  const cookies = new Map<string, string>();
  const tab: Tab = {
    csrf: '',
    cookie: () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    signIn: async (email, word = password) => {
      const answer = await tab.call('POST', '/auth/sign-in/email', { email, password: word });
      tab.csrf = (await tab.call('GET', '/session')).body.csrf ?? '';
      return answer;
    },
    call: async (method, path, body, headers = {}) => {
      const answer = await fetch(`${service.url}/panel/api${path}`, {
        method,
        headers: {
          cookie: tab.cookie(),
          origin: service.url,
          'x-csrf-token': tab.csrf,
          ...(body && { 'content-type': 'application/json' }),
          ...always,
          ...headers,
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      for (const cookie of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        cookies.set(name, value);
      }
      const text = await answer.text();
      const parsed = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text;
      return { status: answer.status, headers: answer.headers, body: parsed };
    },
  };
  return tab;
}

export async function newPerson(
  service: Service,
  accountId: string,
  email: string,
  role: Role = 'owner',
): Promise<void> {
  const { token } = await invite(service.runtime, { accountId, email, role });
  await acceptInvitation(service.runtime, { token, name: 'Ana Prado', password });
}

/** The mails to an address, oldest first. */
export async function mailsTo(service: Service, email: string): Promise<string[]> {
  const folder = join(service.dataDir, 'mail');
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml')).sort();
  const all = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return all.filter((mail) => mail.includes(`To: ${email}`));
}

/** As if the half minute of the codes that were used had passed: a code counts once, and the next one not before its time. */
export const passCodes = (service: Pick<Service, 'database'>): Promise<unknown> =>
  service.database.admin('UPDATE panel_two_factor SET last_step = NULL');

/** RFC 6238, as an authenticator app counts it. */
export function totpOf(secret: string, atMs: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(atMs / 30_000)));
  const digest = createHmac('sha1', key).update(counter).digest();
  const offset = (digest.at(-1) as number) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
