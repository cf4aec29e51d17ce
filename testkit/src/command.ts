import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { endWithRun } from './run.ts';

const MAIN = fileURLToPath(new URL('../../server/src/main/cli/launch.js', import.meta.url));

export interface Running {
  pid: number;
  /** Its standard output and standard error so far. */
  stdout(): string;
  stderr(): string;
  /** The first line of standard output that begins so. Rejects when the program ends before. */
  line(start: string): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

const running = new Set<ChildProcess>();

/** Runs `vintem` with these words and nothing of our own settings. */
export function run(words: string[], env: Record<string, string>): Running {
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(endWithRun(child));
  let stdout = '';
  let stderr = '';
  let ended = false;
  const changed = new Set<() => void>();
  const notice = () => {
    for (const each of changed) each();
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    notice();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      ended = true;
      notice();
      resolve({ code, signal });
    });
  });
  return {
    pid: child.pid as number,
    stdout: () => stdout,
    stderr: () => stderr,
    line: (start) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = stdout.split('\n').find((line) => line.startsWith(start));
          if (found !== undefined) resolve(found);
          else if (ended) reject(new Error(`ended without "${start}":\n${stdout}${stderr}`));
        };
        changed.add(look);
        look();
      }),
    kill: (signal) => child.kill(signal),
    exit,
  };
}

/** The whole of a command that ends by itself. */
export async function finish(
  words: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const program = run(words, env);
  const { code } = await program.exit;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

/** For `afterAll`: ends what a failed test has left. */
export async function endPrograms(): Promise<void> {
  for (const child of running) child.kill('SIGTERM');
  await Promise.all([...running].map((child) => new Promise((resolve) => child.once('close', resolve))));
}
