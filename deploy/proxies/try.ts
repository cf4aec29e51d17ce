// Runs each proxy that is installed with the blocks of the documents as they stand, and calls through it as a provider and as strangers do:
// with the right certificate, a wrong one, none, and with headers that only a proxy may set. Behind it stands a server that says what reached it.
//
//   node deploy/proxies/try.ts
//
// Needs openssl and one of nginx, haproxy and caddy. Names of hosts, files and ports are the only changes to a block.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'vintem-proxies-'));
// nginx reads its files as another user.
chmodSync(folder, 0o755);
const file = (name: string): string => join(folder, name);
const running: ChildProcess[] = [];
const faults: string[] = [];

// -------------------------------------------------------------------------------------------------------- certificates

const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });

/** A chain of its own and a certificate under it. */
function certificate(name: string, ca: string): void {
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
    '-subj',
    '/CN=pay.example',
  );
  writeFileSync(file('san'), 'subjectAltName=DNS:pay.example');
  openssl(
    'x509',
    '-req',
    '-in',
    `${name}.csr`,
    '-CA',
    `${ca}.crt`,
    '-CAkey',
    `${ca}.key`,
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    'san',
    '-out',
    `${name}.crt`,
  );
  writeFileSync(
    file(`${name}.pem`),
    readFileSync(file(`${name}.crt`), 'utf8') + readFileSync(file(`${name}.key`), 'utf8'),
  );
}
function authority(name: string): void {
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.crt`,
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
  );
}
for (const name of ['own-ca', 'provider-ca', 'other-ca']) authority(name);
certificate('pay', 'own-ca');
certificate('provider', 'provider-ca');
certificate('stranger', 'other-ca');

// ------------------------------------------------------------------------------------------------------------ upstream

const upstream = createServer((incoming, answer) => {
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify(incoming.headers));
});
upstream.listen(0, '127.0.0.1');
await once(upstream, 'listening');
const service = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

// ------------------------------------------------------------------------------------------------------------- calling

interface Reached {
  status: number;
  /** The request as the server behind the proxy saw it; null: it saw none. */
  headers: Record<string, string> | null;
}

/** Null: the handshake was refused. */
const call = (port: number, path: string, who: string | null, headers: Record<string, string> = {}) =>
  new Promise<Reached | null>((resolve) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path,
        servername: 'pay.example',
        headers: { host: 'pay.example', ...headers },
        ca: readFileSync(file('own-ca.crt')),
        ...(who === null
          ? {}
          : { cert: readFileSync(file(`${who}.crt`)), key: readFileSync(file(`${who}.key`)) }),
        agent: false,
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: text.startsWith('{') ? JSON.parse(text) : null,
          }),
        );
      },
    );
    outgoing.on('error', () => resolve(null));
    outgoing.end();
  });

const forged = {
  'x-ssl-client-verify': 'SUCCESS',
  'x-forwarded-for': '203.0.113.9',
  'x-forwarded-proto': 'gopher',
};
const hook = '/hooks/providers/loja-a/secret';

/** @param asks the block asks callers for the provider's certificate */
async function tryProxy(name: string, port: number, asks: boolean): Promise<void> {
  const law = (what: string, holds: boolean) => holds || faults.push(`${name}: ${what}`);
  const good = await call(port, hook, 'provider');
  if (asks) {
    law(
      "the provider's delivery arrives, with its certificate examined",
      good?.headers?.['x-ssl-client-verify'] === 'SUCCESS',
    );
    for (const [what, who] of [
      ['without a certificate', null],
      ['with one of another chain', 'stranger'],
    ] as const) {
      const refused = await call(port, hook, who, forged);
      law(
        `a delivery ${what} is refused`,
        refused === null || (refused.status >= 400 && refused.headers === null),
      );
    }
  }
  const plain = await call(port, '/api/v1/public/account', null, forged);
  law('another call needs no certificate', plain?.status === 200);
  law(
    "a caller's own word about its certificate does not pass",
    plain?.headers?.['x-ssl-client-verify'] !== 'SUCCESS',
  );
  // The last entry that no trusted proxy wrote counts: a caller's own may stand before it.
  law(
    "the caller's address is the one that the proxy saw",
    plain?.headers?.['x-forwarded-for']?.split(/,\s*/).at(-1) === '127.0.0.1',
  );
  law('the scheme is the one that the proxy saw', plain?.headers?.['x-forwarded-proto'] === 'https');
  const wrong = await call(port, '/api/v1/public/account', 'stranger');
  law(
    'a certificate of another chain examines nothing',
    wrong === null || wrong.headers?.['x-ssl-client-verify'] !== 'SUCCESS',
  );
}

// ------------------------------------------------------------------------------------------------------------- proxies

/** The block of a document that begins with a line. */
function blockOf(document: string, first: string): string {
  const blocks = readFileSync(join(root, document), 'utf8').matchAll(/^```\w*\n([\s\S]*?)^```$/gm);
  for (const [, block = ''] of blocks) if (block.startsWith(first)) return block;
  throw new Error(`${document} has no block that begins with ${first}`);
}

const installed = (program: string, ...words: string[]): boolean =>
  spawnSync(program, words).error === undefined;

async function run(
  name: string,
  program: string,
  words: string[],
  port: number,
  asks: boolean,
): Promise<void> {
  const child = spawn(program, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder },
  });
  running.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const until = Date.now() + 60_000;
  while (child.exitCode === null && Date.now() < until && !(await isOpen(port)))
    await new Promise((done) => setTimeout(done, 100));
  if (child.exitCode === null && (await isOpen(port))) await tryProxy(name, port, asks);
  else faults.push(`${name} did not start: ${said.slice(-1000)}`);
  // nginx's workers would outlive a master that is killed.
  child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('close', () => socket.destroy());
    socket.on('connect', () => socket.destroy());
  });

const certificates = 'docs/operators/provider-certificates.md';
const scaling = 'docs/operators/scaling.md';

/** @param block changed in nothing but hosts, files and ports */
async function nginx(name: string, block: string, asks: boolean): Promise<void> {
  const port = await freePort();
  const server = block
    .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
    .replaceAll(/\/etc\/nginx\/certificate-chain-prod\.crt/g, file('provider-ca.crt'))
    .replaceAll(/\/etc\/nginx\/[\w.]+\.(crt|pem);/g, `${file('pay.crt')};`)
    .replaceAll(/\/etc\/nginx\/[\w.]+\.key/g, file('pay.key'))
    .replaceAll('pay.example.com', 'pay.example')
    .replaceAll(/(127\.0\.0\.1|10\.0\.0\.11):3000/g, service)
    .replaceAll(/^.*10\.0\.0\.12:3000.*\n/gm, '');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (one) => `${one}_temp_path ${file(one)};`,
  );
  const config = `daemon off; pid ${file('nginx.pid')}; error_log stderr; events {}
http { access_log off; ${temporary.join(' ')}\n${server}\n}`;
  writeFileSync(file('nginx.conf'), config);
  await run(name, 'nginx', ['-p', folder, '-e', 'stderr', '-c', file('nginx.conf')], port, asks);
}

async function haproxy(name: string, block: string, asks: boolean): Promise<void> {
  const port = await freePort();
  const defaults = block.startsWith('defaults')
    ? ''
    : 'defaults\n  timeout connect 2s\n  timeout client 30s\n  timeout server 30s\n\n';
  const config = (defaults + block)
    .replaceAll('bind :443', `bind 127.0.0.1:${port}`)
    .replaceAll('/etc/haproxy/certificate-chain-prod.crt', file('provider-ca.crt'))
    .replaceAll(/\/etc\/haproxy\/[\w.]+\.pem/g, file('pay.pem'))
    .replaceAll(/(127\.0\.0\.1|10\.0\.0\.11):3000( check)?/g, service)
    .replaceAll(/^.*10\.0\.0\.12:3000.*\n/gm, '');
  writeFileSync(file('haproxy.cfg'), config);
  await run(name, 'haproxy', ['-db', '-f', file('haproxy.cfg')], port, asks);
}

async function caddy(name: string, block: string, asks: boolean): Promise<void> {
  const port = await freePort();
  const site = block
    .replace('{$VINTEM_HOST} {', 'pay.example {')
    // In place of the certificate that Caddy gets by itself.
    .replace(/^pay\.example \{\n(\ttls| {2}tls)? ?\{?/m, (all) =>
      all.includes('tls')
        ? `pay.example:${port} {\n  tls ${file('pay.crt')} ${file('pay.key')} {`
        : `pay.example:${port} {\n  tls ${file('pay.crt')} ${file('pay.key')}\n`,
    )
    .replaceAll('/etc/caddy/certificate-chain-prod.crt', file('provider-ca.crt'))
    .replaceAll(/(127\.0\.0\.1|api):3000/g, service);
  writeFileSync(file('Caddyfile'), `{\n  admin off\n  auto_https off\n  default_bind 127.0.0.1\n}\n${site}`);
  await run(name, 'caddy', ['run', '--config', file('Caddyfile'), '--adapter', 'caddyfile'], port, asks);
}

try {
  const left: string[] = [];
  if (installed('nginx', '-v')) {
    await nginx(`nginx of ${certificates}`, blockOf(certificates, 'server {'), true);
    await nginx(`nginx of ${scaling}`, blockOf(scaling, 'upstream vintem {'), false);
  } else left.push('nginx');
  if (installed('haproxy', '-v')) {
    await haproxy(`haproxy of ${certificates}`, blockOf(certificates, 'frontend pay'), true);
    await haproxy(`haproxy of ${scaling}`, blockOf(scaling, 'defaults\n  mode http'), false);
  } else left.push('haproxy');
  if (installed('caddy', 'version')) {
    await caddy(`caddy of ${certificates}`, blockOf(certificates, 'pay.example {'), true);
    await caddy(
      'deploy/compose/Caddyfile',
      readFileSync(join(root, 'deploy/compose/Caddyfile'), 'utf8'),
      false,
    );
  } else left.push('caddy');
  if (left.length > 0) console.log(`left out, not installed: ${left.join(', ')}`);
} finally {
  for (const child of running) child.kill('SIGKILL');
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
