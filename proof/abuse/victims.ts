import { totpOf } from '@vintem/testkit/panel.ts';
import pg from 'pg';
import { fetch } from 'undici';
import { findEmbedded } from '../../server/src/store/database/embedded.ts';
import { type Browser, openBrowser, password } from './browser.ts';
import { mailed } from './mailbox.ts';

/** The people, the links and the secrets that attackers of the second review have got hold of. */
export interface Victims {
  /** An invitation for an owner, made by one who is no owner any more. */
  demotedInvitation: string;
  /** A person with an app of codes, in a browser that she has used before. The thief knows her password. */
  guarded: { email: string; secret: string; cookies: Record<string, string> };
  /** A person whose password a thief knows, and who resets it. */
  robbed: { email: string };
  /** The owner of another account, in which a viewer of the first one is a member too. */
  neighbour: { accountId: string; viewerId: string; cookies: Record<string, string>; key: string };
  /** Two invitations to one address that no account knows yet. */
  twice: [string, string];
  /** The address of a payment link, and that of a charge. */
  linkUrl: string;
  chargeUrl: string;
  chargeId: string;
  /** Where the provider delivers: a secret address. */
  hookUrl: string;
}

export interface Place {
  url: string;
  origin: string;
  dataDir: string;
  /** The account that attacks, whose viewer the neighbour knows. */
  accountId: string;
  viewerEmail: string;
  /** Its owner, signed in. */
  owner: Browser;
  /** An operator's command. */
  command<Result>(words: string[]): Promise<Result>;
  /** A call of the API that must succeed. */
  api<Body>(key: string, path: string, body: object): Promise<Body>;
}

export async function findVictims(place: Place): Promise<Victims> {
  const { url, origin, accountId, owner, command, api } = place;
  const account = async (name: string): Promise<string> =>
    (await command<{ ownerId: string }>(['account', 'create', '--name', name, '--test'])).ownerId;
  const invited = async (to: string, email: string, role: string): Promise<string> => {
    const words = ['member', 'invite', '--account', to, '--email', email, '--role', role];
    return new URL((await command<{ link: string }>(words)).link).hash.slice(1);
  };
  const browser = () => openBrowser({ url, origin }, fetch);
  const joined = async (to: string, email: string, role: string): Promise<Browser> => {
    const own = browser();
    await must(
      own.call('POST', '/invitations/accept', {
        token: await invited(to, email, role),
        name: 'Ana',
        password,
      }),
    );
    await must(own.signIn(email, password));
    return own;
  };

  const partner = await joined(accountId, 'socia@loja.example', 'owner');
  const partnerId = await memberOf(owner, accountId, 'socia@loja.example');
  await must(
    partner.call('POST', `/accounts/${accountId}/members/invitations`, {
      email: 'nova@loja.example',
      role: 'owner',
    }),
  );
  const demotedInvitation = await mailed(place.dataDir, 'nova@loja.example', /convite#([\w-]+)/);
  await must(owner.call('PATCH', `/accounts/${accountId}/members/${partnerId}`, { role: 'admin' }));

  const shop = await account('Vizinha');
  const neighbour = await joined(shop, 'vizinha@feira.example', 'owner');
  const viewer = browser();
  const token = await invited(shop, place.viewerEmail, 'viewer');
  await must(viewer.call('POST', '/invitations/accept', { token, name: 'Leitora', password }));
  await must(viewer.signIn(place.viewerEmail, password));
  const words = ['key', 'create', '--account', shop, '--name', 'Programa', '--permissions', 'read,charges'];
  const { key } = await command<{ key: string }>(words);

  const guarded = await joined(shop, 'guardada@feira.example', 'viewer');
  const { body } = await must(guarded.call('POST', '/auth/two-factor/enable', { password }));
  const secret = new URL(String(body.totpURI)).searchParams.get('secret') ?? '';
  await must(guarded.call('POST', '/auth/two-factor/verify-totp', { code: totpOf(secret, Date.now()) }));
  await joined(shop, 'roubada@feira.example', 'viewer');
  // Its link waits in a mailbox that no attacker reads, and in the database.
  await must(browser().call('POST', '/auth/request-password-reset', { email: 'guardada@feira.example' }));

  const requestKey = () => crypto.randomUUID();
  const link = { title: 'Curso de cerâmica', amountCents: 2500, requestKey: requestKey() };
  const { url: linkUrl } = await api<{ url: string }>(key, '/payment-links', link);
  const charge = { amountCents: 1000, payerName: 'Ana', description: '', requestKey: requestKey() };
  const { payerUrl, id } = await api<{ payerUrl: string; id: string }>(key, '/pix/charges', charge);
  for (const payerName of ["A;=1+1|' /C calc'!A0;B", 'A,=1+1,B', '＝1+1'])
    await api(key, '/pix/charges', { ...charge, payerName, requestKey: requestKey() });
  return {
    demotedInvitation,
    guarded: { email: 'guardada@feira.example', secret, cookies: guarded.cookies },
    robbed: { email: 'roubada@feira.example' },
    neighbour: {
      accountId: shop,
      viewerId: await memberOf(neighbour, shop, place.viewerEmail),
      cookies: neighbour.cookies,
      key,
    },
    twice: [
      await invited(accountId, 'duas@feira.example', 'viewer'),
      await invited(shop, 'duas@feira.example', 'viewer'),
    ],
    linkUrl: url + new URL(linkUrl).pathname,
    chargeUrl: url + new URL(payerUrl).pathname,
    chargeId: id,
    hookUrl: `${url}/hooks/providers/simulator/${await hookToken(place.dataDir)}/pix`,
  };
}

/** @throws Error for an answer that refuses: the stand is not what the attacks expect */
async function must<Answer extends { status: number; text: string }>(
  asked: Promise<Answer>,
): Promise<Answer> {
  const answer = await asked;
  if (answer.status >= 400) throw new Error(`the panel answered ${answer.status}: ${answer.text}`);
  return answer;
}

async function memberOf(browser: Browser, accountId: string, email: string): Promise<string> {
  const { body } = await must(browser.call('GET', `/accounts/${accountId}/members`));
  const members = body.members as { userId: string; email: string }[];
  return members.find((one) => one.email === email)?.userId ?? '';
}

async function hookToken(dataDir: string): Promise<string> {
  const client = new pg.Client({ connectionString: (await findEmbedded(dataDir)) ?? '' });
  await client.connect();
  try {
    const { rows } = await client.query<{ token: string }>(
      `SELECT webhook_token AS token FROM vintem.connection WHERE id = 'simulator'`,
    );
    return rows[0]?.token ?? '';
  } finally {
    await client.end();
  }
}
