import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { appendFile, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Processes of the program as a user starts them, which can be killed, stopped and started again. */

/** The program of this tree. */
const ownEntry = fileURLToPath(new URL('../../server/src/main/cli/launch.js', import.meta.url));

export const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

export async function newFolder(name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `vintem-${name}-`));
  // As root the database runs as another user, who has to pass through.
  await chmod(folder, 0o711);
  return folder;
}

/** One process of the program that is started again whenever it was killed. */
export interface Part {
  name: string;
  readonly pid: number;
  starts: number;
  /** Everything it printed on standard output. */
  output(): string;
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  exited(): Promise<number | null>;
  isRunning(): boolean;
}

export interface Launch {
  words: string[];
  env: Record<string, string>;
  /** The line of its standard output when it is ready. */
  ready: string;
  logFile: string;
  /** Before the program, for example `faketime`. */
  before?: string[];
  /** Another copy of the program than this tree's: its `launch.js`. */
  entry?: string;
}

export function part(
  name: string,
  { words, env, ready, logFile, before = [], entry = ownEntry }: Launch,
): Part {
  let child: ChildProcess | null = null;
  let printed = '';
  const self: Part = {
    name,
    starts: 0,
    get pid() {
      return child?.pid ?? 0;
    },
    output: () => printed,
    isRunning: () => child !== null && child.exitCode === null && child.signalCode === null,
    signal: (signal) => void child?.kill(signal),
    exited: () =>
      child === null || !self.isRunning()
        ? Promise.resolve(child?.exitCode ?? null)
        : new Promise((done) => child?.once('exit', (code) => done(code))),
    async start() {
      self.starts++;
      let said = '';
      const [program = process.execPath, ...args] = [...before, process.execPath, entry, ...words];
      const started = spawn(program, args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env.PATH, ...env },
      });
      child = started;
      started.stderr?.setEncoding('utf8').on('data', (text: string) => void appendFile(logFile, text));
      await new Promise<void>((done, failed) => {
        started.stdout?.setEncoding('utf8').on('data', (text: string) => {
          printed += text;
          said += text;
          if (said.includes(ready)) done();
        });
        started.once('exit', (code, signal) =>
          failed(new Error(`${name} ended with ${code ?? signal} before "${ready}"`)),
        );
      });
    },
  };
  return self;
}

/** Runs a command that ends, and reads its JSON. */
export async function command<T>(
  words: string[],
  env: Record<string, string>,
  entry = ownEntry,
): Promise<{ code: number | null; json: T; text: string }> {
  const child = spawn(process.execPath, [entry, ...words, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const code = await new Promise<number | null>((done) => child.once('close', (ended) => done(ended)));
  let json: unknown = null;
  try {
    json = JSON.parse(out);
  } catch {}
  return { code, json: json as T, text: out + err };
}

/** Runs commands that must succeed. @throws Error with what one printed that did not */
export const commandsWith =
  (env: Record<string, string>) =>
  async <T>(words: string[]): Promise<T> => {
    const { code, json, text } = await command<T>(words, env);
    if (code !== 0) throw new Error(`vintem ${words.join(' ')} ended with ${code}: ${text}`);
    return json;
  };

/** Ends processes one after the other, those that stand still as well; what has not ended within 10 s is killed. */
export async function endAll(parts: readonly Part[]): Promise<void> {
  for (const one of parts) {
    if (!one.isRunning()) continue;
    one.signal('SIGCONT');
    one.signal('SIGTERM');
    await Promise.race([one.exited(), sleep(10_000)]);
    one.signal('SIGKILL');
  }
}

export interface Answer {
  /** 0: no answer. */
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what a script looks at is checked by the script
  body: any;
  headers: Headers | null;
}

export async function http(
  method: string,
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
  timeoutMs = 20_000,
): Promise<Answer> {
  try {
    const answer = await fetch(url, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      body: text === '' ? undefined : JSON.parse(text),
      headers: answer.headers,
    };
  } catch {
    return { status: 0, body: undefined, headers: null };
  }
}

/** Does the work for all of them, forty at once. */
export async function inTurns<T>(of: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < of.length; at += 40) await Promise.all(of.slice(at, at + 40).map(work));
}

export const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((one, other) => one - other)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0;
