import { connect, type Socket } from 'node:net';
import {
  api,
  asMerchant,
  asOwner,
  asStranger,
  closePools,
  count,
  counted,
  type FromAttackers,
  flood,
  json,
  oneOf,
  own,
  panel,
  post,
  send,
  sleep,
  stop,
  targets,
} from './attack.ts';
import { greedy } from './greedy.ts';
import { payers } from './payers.ts';
import { thieves } from './thieves.ts';

/** The attackers: each attack is one loop with bounded concurrency and rate; all of them together hold at most `socketsMost` raw connections. */
const { hostname, port } = new URL(targets.url);

// ------------------------------------------------------------------------------------------------------- hostile text

const hostile: readonly unknown[] = [
  '',
  '\u0000',
  '\ud800',
  '\ufdfa'.repeat(2500),
  '1'.repeat(7500),
  `${'-'.repeat(8000)}x`,
  `a@${'.'.repeat(4000)}`,
  `${'a'.repeat(8000)}@example.com`,
  "'; DROP TABLE account; --",
  '%'.repeat(100),
  '<script>alert(1)</script>',
  '=cmd|calc',
  '../../../etc/passwd',
  '\u202Egnp.exe',
  -1,
  0.1,
  1e308,
  Number.MAX_SAFE_INTEGER + 1,
  null,
  true,
  [],
  {},
  { __proto__: 1, constructor: { prototype: 1 } },
  Array.from({ length: 3000 }, () => 1),
];
/** Every call with a body, and a right body in which one field after the other becomes hostile. */
const forms: readonly [string, string, Record<string, string>, Record<string, unknown>][] = [
  [
    'POST',
    `${panel}/auth/sign-in/email`,
    asStranger,
    { email: 'ana@loja.example', password: 'x'.repeat(20) },
  ],
  ['POST', `${panel}/auth/request-password-reset`, asStranger, { email: 'ana@loja.example' }],
  ['POST', `${panel}/auth/reset-password`, asStranger, { newPassword: 'girafa azul', token: 'x'.repeat(24) }],
  ['POST', `${panel}/auth/two-factor/verify-totp`, asStranger, { code: '123456' }],
  ['POST', `${panel}/auth/passkey/verify-authentication`, asStranger, { response: {} }],
  ['POST', `${panel}/invitations/look`, asStranger, { token: 'x'.repeat(24) }],
  ['POST', `${panel}/invitations/accept`, asStranger, { token: 'x'.repeat(24), name: 'A', password: 'p' }],
  ['POST', `${panel}/email/confirm`, asStranger, { token: 'x'.repeat(24) }],
  [
    'POST',
    `${api}/pix/charges`,
    asMerchant,
    { amountCents: 100, payerName: 'A', description: '', requestKey: 'k' },
  ],
  [
    'POST',
    `${api}/pix/transfers`,
    asMerchant,
    { amountCents: 1, pixKey: 'a@b.c', pixKeyType: 'EMAIL', description: '', requestKey: 'k' },
  ],
  ['POST', `${api}/operations`, asMerchant, { name: 'A' }],
  ['POST', `${api}/webhooks`, asMerchant, { url: 'https://a.example', events: [] }],
  ['POST', `${own}/keys`, asOwner, { name: 'A', permissions: ['read'], ips: [] }],
  ['POST', `${own}/members/invitations`, asOwner, { email: 'a@b.example', role: 'viewer' }],
  ['PATCH', `${panel}/profile`, asOwner, { name: 'Ana', language: 'en' }],
];

const textInFields = () =>
  flood(4, 40, (n) => {
    const [method, url, headers, body] = oneOf(forms, n);
    const field = oneOf(Object.keys(body), Math.floor(n / forms.length));
    const text = JSON.stringify({ ...body, [field]: oneOf(hostile, Math.floor(n / 7)) });
    return send('hostile text', url, { method, headers, body: text });
  });

const deepJson = () =>
  flood(1, 4, () =>
    send('deep and long JSON', `${api}/pix/charges`, {
      method: 'POST',
      headers: asMerchant,
      body: `${'['.repeat(8000)}${']'.repeat(8000)}`,
    }),
  );

const hugeBodies = () =>
  flood(3, 6, (n) =>
    send('huge bodies', oneOf([`${api}/pix/charges`, `${panel}/auth/sign-in/email`, hook], n), {
      method: 'POST',
      headers: oneOf([json, asMerchant, asStranger], n),
      body: 'x'.repeat(4 * 1024 * 1024),
    }),
  );

// ------------------------------------------------------------------------------------------------------- connections

const socketsMost = 600;
const sockets = new Set<Socket>();
const hook = `${targets.url}/hooks/providers/simulator/${'a'.repeat(43)}/pix`;

function open(attack: string, text: string): Socket | undefined {
  if (sockets.size >= socketsMost) return undefined;
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  sockets.add(socket);
  socket.on('error', () => {});
  socket.on('close', () => sockets.delete(socket));
  socket.on('connect', () => socket.write(text));
  count(attack, 'opened');
  return socket;
}

const head = (path: string, bytes: number) =>
  `POST ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;

/** Announced bodies that hardly come, a byte a second. */
const slowBodies = () =>
  flood(1, 20, async (n) => {
    const path = oneOf(
      [new URL(hook).pathname, '/api/v1/public/pix/charges', '/panel/api/auth/sign-in/email'],
      n,
    );
    const socket = open('slow bodies', head(path, 1024 * 1024));
    const timer = setInterval(() => socket?.write('1'), 1000);
    socket?.on('close', () => clearInterval(timer));
  });

const slowHeads = () =>
  flood(1, 20, async () => {
    const socket = open('slow heads', 'GET / HTTP/1.1\r\n');
    const timer = setInterval(() => socket?.write('X-A: b\r\n'), 1000);
    socket?.on('close', () => clearInterval(timer));
  });

/** Connections that never speak, and such as break the protocol and keep their half open. */
const idle = () => flood(1, 20, async () => void open('idle connections', ''));
const halfOpen = () => flood(1, 20, async () => void open('half-open connections', 'NONSENSE\r\n\r\n'));

// ------------------------------------------------------------------------------------------------------------- floods

const name = (n: number) => `${n}-${Math.random().toString(36).slice(2)}`;
const signIns = () =>
  flood(4, 40, (n) =>
    post('sign-ins', `${panel}/auth/sign-in/email`, asStranger, {
      email: `${name(n)}@loja.example`,
      password: 'girafa azul de patins',
    }),
  );
const resets = () =>
  flood(2, 20, (n) =>
    post('resets', `${panel}/auth/request-password-reset`, asStranger, { email: `${name(n)}@loja.example` }),
  );
const invitationLooks = () =>
  flood(2, 20, (n) =>
    post('invitation links', `${panel}/invitations/look`, asStranger, { token: name(n).padEnd(24, 'x') }),
  );
const invitations = () =>
  flood(1, 10, (n) =>
    post('invitations', `${own}/members/invitations`, asOwner, {
      email: `${name(n)}@x.example`,
      role: 'viewer',
    }),
  );
const wrongKeys = () =>
  flood(4, 80, (n) =>
    send('wrong keys', `${api}/account`, {
      headers: { authorization: `Bearer vtm_test_${name(n)}`, 'x-forwarded-for': `203.0.113.${n % 250}` },
    }),
  );
const webhooks = () =>
  flood(4, 80, (n) => post('forged webhooks', hook.replace('aaaa', name(n).slice(0, 4)), json, { pix: [] }));

// ------------------------------------------------------------------------------------------------------- as a merchant

/** Opened and not read. */
const streams = () =>
  flood(2, 10, async (n) => {
    const path = oneOf(
      ['/api/v1/public/events/stream', `/panel/api/accounts/${targets.accountId}/updates`],
      n,
    );
    const credentials = oneOf([`Authorization: Bearer ${targets.key}`, `Cookie: ${targets.cookie}`], n);
    const socket = open(
      'event streams',
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${credentials}\r\n\r\n`,
    );
    socket?.pause();
    await sleep(1000);
    if (n % 3 !== 0) socket?.destroy();
  });

/** Requests exports and does not read the answers for a while. */
const exports = () =>
  flood(2, 10, async (n) => {
    const path = oneOf(
      ['/records.csv', `/statement.csv?operationId=${targets.operationId}`, '/events.csv', '/requests.csv'],
      n,
    );
    const socket = open(
      'exports',
      `GET /panel/api/accounts/${targets.accountId}${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: ${targets.cookie}\r\n\r\n`,
    );
    socket?.pause();
    await sleep(500);
    socket?.destroy();
  });

const searches = () =>
  flood(2, 20, (n) => {
    const text = encodeURIComponent(oneOf(['%', '_%_%_', 'a', '\\', 'ção', 'x'.repeat(100), "' OR 1=1"], n));
    return send('searches', `${own}/records?search=${text}&limit=100`, { headers: asOwner });
  });

const lists = () =>
  flood(2, 60, (n) =>
    send(
      'lists',
      `${api}${oneOf(['/payments?limit=100', '/events?limit=100', '/operations', '/account'], n)}`,
      {
        headers: asMerchant,
      },
    ),
  );

const paths = () =>
  flood(1, 20, (n) =>
    send(
      'odd paths',
      targets.url + oneOf(['//', '/%00', '/..%2f..%2f', `/${'a/'.repeat(1500)}`, '/?'.padEnd(3000, '&')], n),
    ),
  );

const attacks = [
  textInFields,
  deepJson,
  hugeBodies,
  slowBodies,
  slowHeads,
  idle,
  halfOpen,
  signIns,
  resets,
  invitationLooks,
  invitations,
  wrongKeys,
  webhooks,
  streams,
  exports,
  searches,
  lists,
  paths,
  ...greedy,
  ...thieves,
  ...payers,
];

const all = Promise.all(attacks.map((attack) => attack()));
const tell = (message: FromAttackers) => process.send?.(message);

process.on('message', async (message: 'stop' | 'close') => {
  if (message === 'stop') {
    stop();
    await all;
    await closePools();
    for (const [attack, one] of counted) tell({ attack, counted: one });
    // Open connections stay open: the service has to let it go by itself.
    tell({ stopped: true });
  } else {
    for (const socket of sockets) socket.destroy();
    process.exit(0);
  }
});
// The rig has ended: nothing may be left behind it.
process.on('disconnect', () => process.exit(1));
