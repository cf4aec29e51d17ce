// Starts the files of the image without a container engine, in a sandbox that is stricter than one: another user, a read-only root, no
// capability, nothing of this machine but the libraries that the base image brings. Serves a charge and a transfer in it.
//
//   node deploy/image/try.ts
//
// Needs Linux and bubblewrap (`bwrap`); as root also `setpriv`. PostgreSQL is the embedded one, outside of the sandbox.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '../../server/src/ground/log.ts';
import { startEmbedded } from '../../server/src/store/database/embedded.ts';

/** In the base image (gcr.io/distroless/cc-debian12) or, libatomic, added by the Dockerfile. */
const libraries = [
  'libatomic',
  'libdl',
  'libm',
  'libstdc++',
  'libgcc_s',
  'libpthread',
  'libc',
  'ld-linux-x86-64',
  'ld-linux-aarch64',
];
const mostBytes = 100_000_000;
/** Compressed, without ours: glibc, libstdc++, certificates, time zones. */
const baseBytes = 11_000_000;

const folder = mkdtempSync(join(tmpdir(), 'vintem-image-'));
chmodSync(folder, 0o755);
const image = join(folder, 'image');
const ends: (() => Promise<unknown>)[] = [];

try {
  execFileSync(process.execPath, [fileURLToPath(new URL('assemble.ts', import.meta.url)), image]);
  addBase();
  const packed = Number(
    execFileSync('sh', ['-c', `tar c -C "${image}" app usr/bin | gzip -6 | wc -c`], { encoding: 'utf8' }),
  );
  say(`compressed: ${Math.round((packed + baseBytes) / 1e6)} MB, of which the base some ${baseBytes / 1e6}`);
  if (packed + baseBytes > mostBytes) throw new Error('the image is larger than 100 MB');
  await serve();
  say('the image serves a charge and a transfer, read-only and as user 65532');
} finally {
  for (const end of ends.reverse()) await end();
  rmSync(folder, { recursive: true, force: true });
}

async function serve(): Promise<void> {
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o711 });
  const postgres = await startEmbedded({ dataDir: data, log: createLog('warn'), say });
  ends.push(() => postgres.stop());
  const [port, apiMetrics, workerMetrics, simulatorPort] = await Promise.all([1, 2, 3, 4].map(freePort));
  const url = `http://127.0.0.1:${port}`;
  const common = {
    DATABASE_URL: postgres.serviceUrl,
    VINTEM_SECRET: randomBytes(32).toString('base64'),
    SIMULATOR_URL: `http://127.0.0.1:${simulatorPort}`,
    PUBLIC_URL: url,
    HOST: '127.0.0.1',
    PORT: `${port}`,
  };
  const api = { ...common, METRICS_PORT: `${apiMetrics}` };
  const worker = { ...common, METRICS_PORT: `${workerMetrics}` };

  const unmigrated = finish(['check', '--json'], api, 1);
  if (!unmigrated.includes('vintem migrate')) throw new Error(`check of an empty database: ${unmigrated}`);
  finish(['migrate'], { ...common, MIGRATION_DATABASE_URL: postgres.url });
  await stays(
    ['simulator'],
    { ...common, SIMULATOR_PORT: `${simulatorPort}`, SIMULATOR_STATE: '/tmp/simulator' },
    'vintem simulator ready',
  );
  await stays(['worker'], worker, 'vintem worker ready');
  await stays(['api'], api, 'vintem api ready');
  finish(['check', '--live'], api);
  finish(['check', '--live'], worker);

  const account = JSON.parse(finish(['account', 'create', '--name', 'Loja', '--test', '--json'], api));
  const permissions = 'read,charges,transfers';
  const { key } = JSON.parse(
    finish(
      [
        'key',
        'create',
        '--account',
        account.ownerId,
        '--name',
        'image',
        '--permissions',
        permissions,
        '--json',
      ],
      api,
    ),
  );
  // Only now the connection is used: everything must be ready.
  finish(['check'], api);
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${url}/api/v1/public${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  const until = async (id: string, wanted: string): Promise<void> => {
    for (;;) {
      const { status } = await call('GET', `/payments/${id}`);
      if (status === wanted) return say(`${id} is ${status}`);
      if (status === 'failed') throw new Error(`${id} failed`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const charge = await call('POST', '/pix/charges', {
    requestKey: randomUUID(),
    amountCents: 5_000,
    payerName: 'Maria',
    description: '',
  });
  const paid = await fetch(`${common.SIMULATOR_URL}/control/charges/${charge.id.replaceAll('-', '')}/pay`, {
    method: 'POST',
  });
  if (!paid.ok) throw new Error(`the simulator answered ${paid.status} ${await paid.text()}`);
  await until(charge.id, 'paid');
  const transfer = await call('POST', '/pix/transfers', {
    requestKey: randomUUID(),
    amountCents: 1_000,
    pixKey: 'maria@example.com',
    pixKeyType: 'EMAIL',
    description: '',
  });
  await until(transfer.id, 'completed');
  const pages = await fetch(url);
  if (!pages.ok || !(await pages.text()).includes('<html')) throw new Error('the panel is not served');
  finish(['verify', '--full'], api);
}

/** The files of the base image, taken from this machine, and the users file that names 65532. */
function addBase(): void {
  const node = join(image, 'usr/bin/node');
  const listed = execFileSync('ldd', [node], { encoding: 'utf8' });
  for (const [, path = ''] of listed.matchAll(/(\/\S+\.so\S*)/g)) {
    if (!libraries.includes(basename(path).replace(/\.so.*/, '')))
      throw new Error(`Node needs ${path}, which the image has not`);
    const to = join(image, path);
    mkdirSync(join(to, '..'), { recursive: true });
    copyFileSync(path, to);
  }
  for (const path of ['etc', 'tmp', 'proc', 'dev']) mkdirSync(join(image, path), { recursive: true });
  writeFileSync(join(image, 'etc/passwd'), 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n');
  symlinkSync('/proc/mounts', join(image, 'etc/mtab'));
}

/** `vintem WORDS` inside. */
function sandboxed(words: string[], settings: Record<string, string>): [string, string[]] {
  const uid = '65532';
  const bwrap = [
    ...['bwrap', '--unshare-all', '--share-net', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...[
      '--uid',
      uid,
      '--gid',
      uid,
      '--ro-bind',
      image,
      '/',
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--tmpfs',
      '/tmp',
      '--chdir',
      '/app',
      '--clearenv',
    ],
    ...Object.entries({
      NODE_ENV: 'production',
      DATA_DIR: '/var/lib/vintem',
      SIMULATOR_PORT: 'off',
      LOG_LEVEL: 'warn',
      ...settings,
    }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['/usr/bin/node', 'server/src/main/cli/launch.js', ...words],
  ];
  const isRoot = process.getuid?.() === 0;
  const all = isRoot
    ? ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs', ...bwrap]
    : bwrap;
  return [all[0] as string, all.slice(1)];
}

/** Runs to its end and answers standard output. */
function finish(words: string[], settings: Record<string, string>, exitCode = 0): string {
  const [file, args] = sandboxed(words, settings);
  try {
    const text = execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    if (exitCode === 0) return text;
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string };
    if (status === exitCode) return stdout;
    throw new Error(`vintem ${words.join(' ')} ended with ${status}: ${stdout}`);
  }
  throw new Error(`vintem ${words.join(' ')} ended with 0`);
}

/** Runs until the end of this script, which is SIGTERM and must end it with 0. */
async function stays(words: string[], settings: Record<string, string>, ready: string): Promise<void> {
  const [file, args] = sandboxed(words, settings);
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes(ready)) resolve();
    });
    void exit.then((code) => reject(new Error(`vintem ${words.join(' ')} ended with ${code}`)));
  });
  ends.push(async () => {
    child.kill('SIGTERM');
    await exit;
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
