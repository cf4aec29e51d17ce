import { connect, type Socket } from 'node:net';
import { makeKey } from '../../server/src/api/keys/key.ts';
import { connectionsOfCaller } from '../../server/src/edge/connection-shares.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import {
  api,
  ask,
  asMerchant,
  asOwner,
  asStranger,
  asViewer,
  count,
  flood,
  isStopping,
  json,
  own,
  panel,
  post,
  send,
  sleep,
  targets,
  withKey,
} from './attack.ts';

/** Attacks of the second review: each asks for more than its limit (`limits.ts`), and costs others something where there is none. */
const { keys } = targets;
const name = () => Math.random().toString(36).slice(2);
const days = `from=${new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)}&to=${new Date().toISOString().slice(0, 10)}`;

const filesOfViewer = () =>
  flood(8, 40, () =>
    send('files of a viewer', `${own}/statement.pdf?operationId=${targets.operationId}&${days}`, {
      headers: asViewer,
    }),
  );

const challenges = () =>
  flood(4, 100, () =>
    send('passkey challenges', `${panel}/auth/passkey/generate-authenticate-options`, {
      headers: asStranger,
      from: '127.0.0.21',
      as: '192.0.2.21',
    }),
  );

const missingKeys = () =>
  flood(12, 60, async (n) => {
    const key = [keys.missing1, keys.missing2, keys.missing3][n % 3] as string;
    const body = {
      amountCents: 1000,
      pixKey: 'pix-key-not-found@simulator.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: crypto.randomUUID(),
    };
    const answer = await ask(`${api}/pix/transfers`, {
      method: 'POST',
      headers: withKey(key),
      body: JSON.stringify(body),
    });
    const code = /"code":"([a-z_]+)"/.exec(answer?.text ?? '')?.[1];
    count(
      'Pix keys that do not exist',
      answer === null ? 'no answer' : `${answer.status} ${code ?? ''}`.trim(),
    );
  });

const refunds = () =>
  flood(4, 20, () =>
    post('refunds of one cent', `${api}/payments/${targets.paidId}/refunds`, withKey(keys.refunding), {
      amountCents: 1,
      requestKey: crypto.randomUUID(),
    }),
  );
const listsOfRefunds = () =>
  flood(8, 80, () =>
    send('lists of refunds', `${api}/payments/${targets.paidId}/refunds?limit=100`, {
      headers: withKey(keys.refunding),
    }),
  );

const ids = systemIds(systemClock);
const madeUpKeys = () =>
  flood(4, 80, () =>
    send('made-up keys', `${api}/account`, {
      // Its sum of digits is right, which anybody can compute.
      headers: withKey(makeKey(ids, true).key),
      from: '127.0.0.22',
      as: '192.0.2.22',
    }),
  );
const madeUpAccounts = () =>
  flood(4, 80, () =>
    send('made-up accounts', `${panel}/accounts/${crypto.randomUUID()}/overview`, {
      from: '127.0.0.23',
      as: '192.0.2.23',
    }),
  );

const passwords = () =>
  flood(4, 20, (n) =>
    post(
      'passwords out of one network',
      `${panel}/auth/sign-in/email`,
      asStranger,
      { email: `${name()}@loja.example`, password: 'girafa azul de patins' },
      { from: '127.0.0.24', as: `2001:db8:0:1::${(n % 65_000).toString(16)}` },
    ),
  );

const emptySearches = () =>
  flood(20, 100, () =>
    send('searches without a hit', `${api}/payments?status=failed&limit=1`, {
      headers: withKey(keys.searching),
    }),
  );

/** Charges that no payer pays, each of which goes to ten endpoints that fail with a kilobyte. */
const unpaidCharges = () =>
  flood(4, 20, () =>
    post('events for failing endpoints', `${api}/pix/charges`, asMerchant, {
      amountCents: 1000,
      payerName: 'Ana Prado',
      description: '',
      requestKey: crypto.randomUUID(),
    }),
  );
const polling = () =>
  flood(4, 80, () => send('polling', `${api}/account`, { headers: withKey(keys.polling) }));

/**
 * From an address of their own, past the proxy. The service takes connections in their order, so each that is open when a later one is closed
 * has a place, however slow the service is.
 */
async function silentConnections(): Promise<void> {
  const { hostname, port } = new URL(targets.direct);
  const open = new Map<Socket, number>();
  let trying = 0;
  let connected = 0;
  let mostOpen = 0;
  await flood(1, 60, async () => {
    if (trying >= connectionsOfCaller + 200) return;
    trying++;
    const socket = connect({ host: hostname, port: Number(port), localAddress: '127.0.0.66' });
    socket.on('error', () => {});
    socket.on('connect', () => {
      count('silent connections', 'opened');
      open.set(socket, connected++);
    });
    socket.on('close', () => {
      trying--;
      const own = open.get(socket);
      if (own === undefined) return;
      open.delete(socket);
      mostOpen = Math.max(mostOpen, [...open.values()].filter((other) => other < own).length);
    });
  });
  for (let n = 0; n < mostOpen; n++) count('silent connections', 'open');
}

const renames = () =>
  flood(1, 2, async () => {
    const answer = await ask(`${api}/operations/${targets.operationId}`, {
      method: 'PATCH',
      headers: withKey(keys.renaming),
      body: JSON.stringify({ name: 'Loja' }),
    });
    count(
      'a balance without the right to read',
      answer?.text.includes('balanceCents') ? 'shown' : (answer?.status ?? 'no answer'),
    );
  });

const resets = () =>
  flood(1, 1, () =>
    post('resets of a test account', `${targets.url}/api/v1/test/reset`, withKey(targets.resettingKey), {}),
  );

/** Each is held as long as the service lets it. */
async function streamsOfViewer(): Promise<void> {
  let open = 0;
  let mostOpen = 0;
  await flood(5, 5, async () => {
    const left = new AbortController();
    const answer = await fetch(`${own}/events/stream`, { headers: asViewer, signal: left.signal }).catch(
      () => null,
    );
    count('streams of a viewer', answer?.status ?? 'no answer');
    if (answer?.status === 200) {
      open++;
      mostOpen = Math.max(mostOpen, open);
      const hold = setInterval(() => isStopping() && left.abort(), 500);
      await answer.text().catch(() => {});
      clearInterval(hold);
      open--;
    } else await sleep(1000);
  });
  for (let n = 0; n < mostOpen; n++) count('streams of a viewer', 'at once');
}

const turnedNames = () =>
  flood(1, 4, () =>
    post('names that turn the line around', `${api}/pix/charges`, asMerchant, {
      amountCents: 1000,
      payerName: 'Ana \u202Egnp.exe',
      description: '',
      requestKey: crypto.randomUUID(),
    }),
  );
const platformEndpoints = () =>
  flood(1, 2, () =>
    post('endpoints of the platform', `${own}/webhooks`, asOwner, {
      url: 'https://168.63.129.16/hook',
      events: ['*'],
      requestKey: crypto.randomUUID(),
    }),
  );

const forgedCertificates = () =>
  flood(2, 20, () =>
    send(
      'deliveries with a forged certificate',
      `${targets.url}/hooks/providers/simulator/${'a'.repeat(43)}/pix`,
      {
        method: 'POST',
        headers: { ...json, 'x-ssl-client-verify': 'SUCCESS', 'x-forwarded-for': '127.0.0.1' },
        body: JSON.stringify({ pix: [] }),
      },
    ),
  );

export const greedy = [
  filesOfViewer,
  challenges,
  missingKeys,
  refunds,
  listsOfRefunds,
  madeUpKeys,
  madeUpAccounts,
  passwords,
  emptySearches,
  unpaidCharges,
  polling,
  silentConnections,
  renames,
  resets,
  streamsOfViewer,
  turnedNames,
  platformEndpoints,
  forgedCertificates,
];
