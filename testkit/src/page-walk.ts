import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

/** A page for operators, followed as a stranger follows it: each line of its blocks is typed into a shell as it is printed. */

const launcher = fileURLToPath(new URL('../../server/src/main/cli/launch.js', import.meta.url));

export interface Block {
  language: string;
  /** Of a shell block a command each, lines that end in a backslash joined. */
  lines: string[];
  text: string;
}

/** The blocks of a page for operators, or of one of its parts. */
export async function blocksOf(page: string, heading?: string): Promise<Block[]> {
  const text = await readFile(new URL(`../../docs/operators/${page}`, import.meta.url), 'utf8');
  const [, part = ''] = heading === undefined ? ['', text] : text.split(`\n## ${heading}\n`);
  const own = heading === undefined ? part : (part.split('\n## ')[0] ?? '');
  return [...own.matchAll(/^ *```(\w+)\n(.*?)^ *```$/gms)].map(([, language = '', code = '']) => ({
    language,
    text: code,
    lines: code
      .replace(/\\\n\s*/g, ' ')
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  }));
}

export interface Typed {
  code: number;
  /** All that the line printed. */
  out: string;
}

export interface Walk {
  /** Where the shell stands: files that a person makes or gets lie here. */
  folder: string;
  /** In the place of words that the pages print in capitals, as `OWNER_ID`. */
  known: Record<string, string>;
  /** Types a line. @param paste what a person pastes where it waits */
  type(line: string, paste?: string): Promise<Typed>;
  /** The same, for a line that has to end well. */
  must(line: string, paste?: string): Promise<string>;
  remove(): Promise<void>;
}

/**
 * @param env the settings of the installation, as the shell of its operator has them
 * @param elsewhere what the pages print, and what stands in its place here: default ports, the provider's address
 */
export async function startWalk(
  env: Record<string, string>,
  elsewhere: readonly (readonly [string, string])[],
): Promise<Walk> {
  const folder = await mkdtemp(join(tmpdir(), 'vintem-walk-'));
  const bin = join(folder, '.bin');
  await mkdir(bin);
  const program = async (name: string, text: string) => {
    await writeFile(join(bin, name), text);
    await chmod(join(bin, name), 0o755);
  };
  // npx would look for the package; curl and its options are not on every machine that runs tests.
  await program('npx', `#!/bin/sh\nshift\nexec "${process.execPath}" "${launcher}" "$@"\n`);
  await program('curl', `#!/bin/sh\nexec "${process.execPath}" "${join(bin, 'curl.mjs')}" "$@"\n`);
  await writeFile(join(bin, 'curl.mjs'), curl);
  const [variables, mask] = [join(bin, 'variables'), join(bin, 'mask')];
  await writeFile(mask, '0022');
  const path = `${bin}:${process.env.PATH}`;
  const settings: Record<string, string> = { PATH: path, HOME: folder, ...env };

  const walk: Walk = {
    folder,
    known: {},
    async type(line, paste = '') {
      const filled = elsewhere.reduce(
        (text, [printed, here]) => text.replaceAll(printed, here),
        line.replace(/\b[A-Z]+_ID\b/g, (name) => walk.known[name] ?? name),
      );
      // The next line has what this one sets, as in one shell; an environment has only what was exported.
      const script = [
        `umask "$(cat '${mask}')"; [ ! -f '${variables}' ] || . '${variables}'`,
        filled,
        `code=$?; umask > '${mask}'; names="${'$'}{!VINTEM_*} ${'$'}{!EFI_*}"`,
        `[ -z "${'$'}{names// }" ] || declare -p $names > '${variables}'; exit $code`,
      ].join('\n');
      const typed = await new Promise<Typed>((done) => {
        const child = execFile(
          'bash',
          ['-c', script],
          { cwd: folder, env: settings, maxBuffer: 1 << 24 },
          (error, stdout, stderr) => {
            const code = error === null ? 0 : Number(error.code ?? 1);
            done({ code, out: stdout + (code === 0 ? '' : stderr) });
          },
        );
        // A line that reads no input can end before the paste is written (EPIPE): its exit code and words are the result.
        child.stdin?.on('error', () => {});
        child.stdin?.end(paste);
      });
      return typed;
    },
    async must(line, paste) {
      const { code, out } = await walk.type(line, paste);
      expect([line, code, code === 0 ? '' : out]).toEqual([line, 0, '']);
      return out;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
  return walk;
}

/** As much of curl as the pages use. */
const curl = `
const words = process.argv.slice(2);
const after = (option) => words.flatMap((word, at) => (word === option ? [words[at + 1]] : []));
const known = ['-X', '-H', '-d', '-u', '--cert', '--cert-type'];
const url = words.find((word, at) => !word.startsWith('-') && !known.includes(words[at - 1]));
const other = words.find((word) => word.startsWith('-') && !known.includes(word));
if (other) throw new Error('no option ' + other);
const headers = Object.fromEntries(after('-H').map((one) => one.split(': ')));
const [user] = after('-u');
if (user) headers.authorization = 'Basic ' + Buffer.from(user).toString('base64');
const [body] = after('-d');
const answer = await fetch(url, { method: after('-X')[0] ?? (body === undefined ? 'GET' : 'POST'), headers, ...(body !== undefined && { body }) });
process.stdout.write(await answer.text());
`;

/**
 * Types `vintem doctor` until the running service has registered its address, which takes it some seconds after the connection was made.
 * @returns its faults
 */
export async function faultsOf(walk: Walk, line: string): Promise<string[]> {
  for (;;) {
    const { out } = await walk.type(line);
    const faults = out.split('\n').filter((one) => one.startsWith('FAULT'));
    if (!faults.some((one) => /^FAULT\s+\S+\s+webhook/.test(one))) return faults;
  }
}

export interface FirstMoney {
  connection: string;
  /** Of the account that is there already; absent: the page makes one. */
  ownerId?: string;
  /** A payer pays the charge. */
  pay(chargeId: string): Promise<void>;
  refunds: boolean;
  transfers: boolean;
}

/** Follows the page of the first real money. @returns the answers of its calls */
export async function firstMoney(walk: Walk, { connection, ownerId, pay, refunds, transfers }: FirstMoney) {
  const blocks = (await blocksOf('first-week.md', 'The first real money')).map(({ lines }) => lines);
  expect(blocks.map((lines) => lines.length)).toEqual([2, 2, 2, 2, 2, 5, 1]);
  const [accounts = [], session = [], charge = [], refund = [], transfer = [], compare = []] = blocks;
  const at = (command = '') => command.replace('--connection loja-a', `--connection ${connection}`);
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  const answered = async (line = ''): Promise<any> => {
    const answer = JSON.parse(await walk.must(at(line)));
    expect([line, answer.statusCode, answer.code]).toEqual([line, undefined, undefined]);
    return answer;
  };
  const becomes = async (line = '', status = '') => {
    for (;;) {
      const answer = await answered(line);
      const now = answer.status ?? answer.refunds[0].status;
      if (now === status) return answer;
      expect([line, ['unknown', 'pending'].includes(now) || now]).toEqual([line, true]);
    }
  };
  const madeHere = ownerId === undefined ? await walk.must(at(accounts[0])) : `account ${ownerId}`;
  walk.known.OWNER_ID = /^account (\S+)/m.exec(madeHere)?.[1] ?? '';
  const key = /vtm_(?:live|test)_\S+/.exec(await walk.must(accounts[1] ?? ''))?.[0] ?? '';
  await walk.must(session[0] ?? '');
  await walk.must(session[1] ?? '', `${key}\n`);

  const made = await answered(charge[0]);
  expect(made.copyPaste).toMatch(/^000201/);
  walk.known.CHARGE_ID = made.id;
  await pay(made.id);
  const paid = await becomes(charge[1], 'paid');
  if (refunds) {
    await answered(refund[0]);
    await becomes(refund[1], 'completed');
  }
  const sent = transfers ? await answered(transfer[0]) : null;
  if (sent) {
    expect(sent).toMatchObject({ amountCents: 1_000, feeCents: 25 });
    walk.known.TRANSFER_ID = sent.id;
    await becomes(transfer[1], 'completed');
  }
  const balance = await answered(
    'curl "$VINTEM_URL/api/v1/public/account" -H "authorization: Bearer $VINTEM_KEY"',
  );
  const left = 1_200 - (refunds ? 200 : 0) - (transfers ? 1_000 : 0);
  expect(balance.balanceCents).toBe(left);
  const [story = '', account = '', ...rest] = compare;
  expect(await walk.must(story)).toContain(made.id);
  expect(await walk.must(account)).toMatch(new RegExp(`R\\$\\s0?${(left / 100).toFixed(2)}`));
  for (const line of rest) if (transfers || !line.includes('provider balance')) await walk.must(at(line));
  return { paid, sent, key };
}
