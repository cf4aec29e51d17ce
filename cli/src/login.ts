import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Vintem } from '@vintem/sdk';
import { type Command, type Context, type Login, required, text, UsageFault } from './command.ts';
import { fields, reais } from './output.ts';

/** Where address and key stand: one file that only its owner reads. */
export const defaultConfigFile = (env: NodeJS.ProcessEnv): string =>
  join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'vintem', 'login.json');

export async function storedLogin(file: string): Promise<Login | null> {
  let stored: string;
  try {
    stored = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const { url, key } = JSON.parse(stored) as Partial<Login>;
  if (typeof url !== 'string' || typeof key !== 'string')
    throw new Error(`${file} is not a login; log in again`);
  return { url, key };
}

async function store(file: string, kept: object): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // Written apart and moved, so that the key is never in a file that others may read, not even for a moment.
  const fresh = `${file}.${process.pid}`;
  await writeFile(fresh, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await chmod(fresh, 0o600);
  await rename(fresh, file);
}

/**
 * The secret with which `listen` signs for one service: the same at every run, so that a receiver that was given it can stay as it is.
 * It stands beside the login, in `listen.json`.
 */
export async function keptSecret(
  configFile: string,
  service: string,
  makeSecret: () => string,
): Promise<string> {
  const file = join(dirname(configFile), 'listen.json');
  const kept: Record<string, string> = JSON.parse(
    await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '{}';
      throw error;
    }),
  );
  const secret = kept[service] ?? makeSecret();
  if (kept[service] === undefined) await store(file, { ...kept, [service]: secret });
  return secret;
}

/** The first line of standard input; not shown while it is typed. */
async function readKey(): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY) stderr.write('API key: ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: silent, terminal: stdin.isTTY === true });
  try {
    for await (const line of lines) return line.trim();
    return '';
  } finally {
    lines.close();
    if (stdin.isTTY) stderr.write('\n');
  }
}

/**
 * The key of the command line or of the environment; undefined: none is given.
 * @throws UsageFault
 */
export async function givenKey(values: Context['values']): Promise<string | undefined> {
  const [shown, file] = [text(values, 'key'), text(values, 'key-file')];
  if (shown !== undefined && file !== undefined)
    throw new UsageFault('--key and --key-file are one too many');
  if (file === '-') return readKey();
  if (file !== undefined) {
    const key = await readFile(file, 'utf8').catch((error: Error) => {
      throw new UsageFault(`--key-file: ${error.message}`);
    });
    return key.replace(/^\ufeff/, '').trim();
  }
  if (shown !== undefined) {
    process.stderr.write(
      'vintem-cli: --key stays in the list of processes and in the history of the shell: use --key-file, VINTEM_KEY or login\n',
    );
  }
  return shown ?? (process.env.VINTEM_KEY || undefined);
}

/** @throws UsageFault for what is no address, or would carry the key readable through a network */
export function safeUrl(url: string): string {
  if (!URL.canParse(url)) throw new UsageFault('--url takes an address, like https://pix.example.com');
  const { protocol, hostname } = new URL(url);
  const isHere = hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && isHere))
    throw new UsageFault(
      '--url takes an https address: with http the key would travel readable (http only on this machine)',
    );
  return url;
}

export const loginCommands: Command[] = [
  {
    name: 'login',
    usage: '--url SERVICE [--key-file FILE]',
    about:
      'stores address and key in a file that only you can read; without --key-file the key is read from standard input',
    options: {},
    anonymous: true,
    run: async ({ values, out, configFile }) => {
      const url = required(values, 'url');
      safeUrl(url);
      const key = (await givenKey(values)) ?? (await readKey());
      if (key === '') throw new UsageFault('no key was given');
      const vintem = new Vintem({ apiKey: key, baseUrl: url });
      const [account, { operations }] = await out.progress(
        'asking the service',
        Promise.all([vintem.account.get(), vintem.operations.list()]),
      );
      const operationName = operations.find(({ id }) => id === account.operationId)?.name ?? '';
      await store(configFile, { url, key });
      const livemode = !key.startsWith('vtm_test_');
      out.answer(
        { url, operationId: account.operationId, operationName, livemode, file: configFile },
        fields({
          service: url,
          account: livemode ? 'live' : 'test',
          operation: operationName,
          balance: reais(account.balanceCents),
          stored: configFile,
        }),
      );
      return undefined;
    },
  },
  {
    name: 'logout',
    usage: '',
    about: 'removes the stored address and key; the key itself stays valid until it is revoked in the panel',
    options: {},
    anonymous: true,
    run: async ({ out, configFile }) => {
      await rm(configFile, { force: true });
      out.answer({ removed: configFile }, `removed ${configFile}`);
      return undefined;
    },
  },
];
