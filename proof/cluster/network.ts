import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { killIfAlive } from '@vintem/testkit/processes.ts';

/** Machines on one network, as far as the kernel can play them: network namespaces on a bridge. Linux and root. */
export interface Machine {
  address: string;
  /** Starts a program on it, as the user `postgres`; its output goes to `logFd`. */
  run(words: readonly string[], logFd: number): void;
  /** Ends every process on it whose name is one of `names` (all without it), with kill -9. */
  kill(names?: readonly string[]): void;
  /** Pulls the cable, or plugs it in again. */
  cable(connected: boolean): void;
}

export interface Network {
  /** The address of the rig itself. */
  address: string;
  machines: readonly Machine[];
  close(): void;
}

export const mayHaveNetwork = (): boolean =>
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync('ip', ['-V'], { stdio: 'ignore' }).status === 0;

/** From the addresses for documentation and tests (RFC 2544), which nothing else uses. */
const net = '198.18.77';

export function openNetwork(machines: number): Network {
  const id = process.pid % 100_000;
  const bridge = `vtb${id}`;
  const ip = (...words: string[]): void => {
    const { status, stderr } = spawnSync('ip', words, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr}`);
  };
  const made: string[] = [];
  const close = () => {
    for (const one of made) {
      for (const pid of pidsIn(one)) killIfAlive(pid, 'SIGKILL');
      spawnSync('ip', ['netns', 'del', one]);
    }
    spawnSync('ip', ['link', 'del', bridge]);
  };
  const machineOf = (n: number): Machine => {
    const [name, cable, address] = [`vtm${id}-${n}`, `vtc${id}-${n}`, `${net}.${10 + n}`];
    ip('netns', 'add', name);
    made.push(name);
    ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    ip('link', 'set', cable, 'master', bridge, 'up');
    ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', name, 'link', 'set', 'eth0', 'up');
    ip('-n', name, 'link', 'set', 'lo', 'up');
    return {
      address,
      run: (words, logFd) => {
        const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'];
        spawn('ip', ['netns', 'exec', name, ...asPostgres, ...words], {
          stdio: ['ignore', logFd, logFd],
          env: { PATH: process.env.PATH, LC_ALL: 'C' },
        });
      },
      kill: (names) => {
        for (const pid of pidsIn(name))
          if (names === undefined || names.includes(programOf(pid))) killIfAlive(pid, 'SIGKILL');
      },
      cable: (connected) => ip('link', 'set', cable, connected ? 'up' : 'down'),
    };
  };
  process.once('exit', close);
  try {
    ip('link', 'add', bridge, 'type', 'bridge');
    ip('addr', 'add', `${net}.1/24`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    return { address: `${net}.1`, machines: Array.from({ length: machines }, (_, n) => machineOf(n)), close };
  } catch (error) {
    close();
    throw error;
  }
}

const pidsIn = (name: string): number[] =>
  spawnSync('ip', ['netns', 'pids', name], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line !== '')
    .map(Number);

function programOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    // It has ended meanwhile.
    return '';
  }
}
