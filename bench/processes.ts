import { type ChildProcess, fork } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { endPrograms, run } from '@vintem/testkit/command.ts';
import pg from 'pg';

export interface Running {
  pid: number;
  /** Ends it as a user does, and waits. */
  stop(): Promise<void>;
}

const alive = new Set<ChildProcess>();

/** `vintem WORDS`, as a user runs it; resolves with the line of standard output that begins with `ready`. */
export async function startProgram(
  words: string[],
  env: Record<string, string>,
  ready: string,
): Promise<Running & { line: string }> {
  const program = run(words, env);
  return {
    pid: program.pid,
    line: await program.line(ready),
    stop: async () => {
      program.kill('SIGTERM');
      await program.exit;
    },
  };
}

/** A part of the bench in a process of its own, which sends a message once it is ready. */
export async function startPart<Told>(
  file: string,
  env: Record<string, string> = {},
): Promise<Running & { child: ChildProcess; told: Told }> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'json',
  });
  const running = track(child);
  const told = await new Promise<Told>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Told));
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
  });
  return { ...running, child, told };
}

function track(child: ChildProcess): Running {
  alive.add(child);
  const exit = new Promise<void>((resolve) => {
    child.once('exit', () => {
      alive.delete(child);
      resolve();
    });
  });
  return {
    pid: child.pid as number,
    stop: async () => {
      child.kill('SIGTERM');
      await exit;
    },
  };
}

/** Whatever is still there when the bench ends or breaks. */
export async function stopAll(): Promise<void> {
  const parts = [...alive].map((child) => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 12_000);
    return new Promise<void>((resolve) =>
      child.once('exit', () => {
        clearTimeout(late);
        resolve();
      }),
    );
  });
  await Promise.all([...parts, endPrograms()]);
}

// ------------------------------------------------------------------------------------------------------------- CPU time

const ticksPerSecond = 100;

/** CPU seconds of a process and of everything it has started, from /proc; what has ended counts through its parent. */
export function cpuSecondsOf(pid: number): number {
  const children = new Map<number, number[]>();
  const ticks = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const parent = Number(fields[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
      // utime, stime, cutime, cstime
      ticks.set(
        Number(name),
        fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0),
      );
    } catch {
      // It ended while we looked.
    }
  }
  const total = (one: number): number =>
    (ticks.get(one) ?? 0) + (children.get(one) ?? []).reduce((sum, child) => sum + total(child), 0);
  return total(pid) / ticksPerSecond;
}

/** CPU of one operation, in microseconds. */
export interface CpuEach {
  service: number;
  postgres: number;
}

export const allOf = ({ service, postgres }: CpuEach): number => service + postgres;
export const textOf = ({ service, postgres }: CpuEach): string =>
  `${service.toFixed(0)} + ${postgres.toFixed(0)} µs`;

/** Resident memory, in bytes. */
export function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}

/** A process and everything it has started that is still there. */
export function familyOf(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((one) => /PPid:\s+(\d+)/.exec(statusOf(`${one}`))?.[1] === `${pid}`);
  return [pid, ...children.flatMap(familyOf)];
}

/** How often threads of these processes gave up the core to wait for something, since they began. */
export const waitsOf = (pids: readonly number[]): number =>
  pids
    .flatMap((pid) => threadsOf(pid).map((thread) => statusOf(`${pid}/task/${thread}`)))
    .reduce((sum, status) => sum + Number(/\nvoluntary_ctxt_switches:\s+(\d+)/.exec(status)?.[1] ?? 0), 0);

/** Memory of these processes in bytes; what several of them share is divided between them. */
export const sharedMemoryOf = (pids: readonly number[]): number =>
  pids
    .map((pid) => /\nPss:\s+(\d+)/.exec(textOfProc(`${pid}/smaps_rollup`))?.[1] ?? 0)
    .reduce((sum: number, kilobytes) => sum + Number(kilobytes) * 1024, 0);

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

const statusOf = (path: string): string => textOfProc(`${path}/status`);

/** Empty for one that has ended while we looked. */
function textOfProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}

/** Autovacuum comes when it likes, and took up to half of a transfer's CPU in one turn of a pair and nothing in the other. */
export async function withoutAutovacuum(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('ALTER SYSTEM SET autovacuum = off');
  await client.query('SELECT pg_reload_conf()');
  await client.end();
}
