import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../ports/clock.ts';
import { systemIds } from '../ports/ids.ts';
import { createSecrets, loadSecrets, secretProblem } from './secrets.ts';

const ids = systemIds(systemClock);
const one = Buffer.alloc(32, 1);
const two = Buffer.alloc(32, 2);

describe('what is sealed', () => {
  const secrets = createSecrets(ids, one);

  it('opens to the same bytes in the same context', () => {
    for (const plain of ['', 'chave@exemplo.com.br', Buffer.from([0, 255, 10])]) {
      expect(secrets.open(secrets.seal(plain, 'payment'), 'payment')).toEqual(Buffer.from(plain));
    }
    expect(secrets.seal('same', 'payment')).not.toEqual(secrets.seal('same', 'payment'));
  });

  it('opens in no other context', () => {
    expect(() => secrets.open(secrets.seal('plain', 'one payment'), 'another payment')).toThrow();
  });

  it('does not open when any byte was changed', () => {
    const sealed = secrets.seal('plain', 'payment');
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] as number) ^ 1;
      expect(() => secrets.open(changed, 'payment')).toThrow();
    }
    expect(() => secrets.open(sealed.subarray(0, 20), 'payment')).toThrow();
  });

  it('opens in the process that sealed it as in every other, however much that sealed since', () => {
    const mine = createSecrets(ids, one);
    const first = mine.seal('chave-0@exemplo.com.br', 'payment 0');
    for (let at = 1; at <= 17_000; at++) {
      const sealed = mine.seal(`chave-${at}@exemplo.com.br`, `payment ${at}`);
      if (at % 1_000 > 1) continue;
      for (const process of [mine, secrets]) {
        expect(process.open(sealed, `payment ${at}`).toString()).toBe(`chave-${at}@exemplo.com.br`);
        expect(process.open(first, 'payment 0').toString()).toBe('chave-0@exemplo.com.br');
        expect(() => process.open(sealed, 'payment 0')).toThrow();
      }
    }
    const opened = mine.open(first, 'payment 0');
    opened.fill(0);
    expect(mine.open(first, 'payment 0').toString()).toBe('chave-0@exemplo.com.br');
  });

  it('opens values while the previous secret is set, and seals with the current one', () => {
    const sealed = secrets.seal('plain', 'payment');
    const changed = createSecrets(ids, two, one);
    expect(() => changed.open(sealed, 'payment')).not.toThrow();
    expect(changed.open(sealed, 'payment').toString()).toBe('plain');
    expect(() => createSecrets(ids, two).open(sealed, 'payment')).toThrow('VINTEM_SECRET_PREVIOUS');
    expect(createSecrets(ids, two).open(changed.seal('plain', 'payment'), 'payment').toString()).toBe(
      'plain',
    );
  });
});

describe('peppers', () => {
  it('are named by their secret, and the previous one still verifies', () => {
    const before = createSecrets(ids, one);
    const after = createSecrets(ids, two, one);
    expect(after.pepperOf(before.currentPepper.id)).toEqual(before.currentPepper.pepper);
    expect(after.currentPepper.id).not.toBe(before.currentPepper.id);
    expect(before.pepperOf(after.currentPepper.id)).toBeUndefined();
  });

  it('differ from every other purpose', () => {
    const secrets = createSecrets(ids, one);
    const all = [secrets.currentPepper.pepper, secrets.derive('cursors'), secrets.derive('other')];
    expect(new Set(all.map((each) => each.toString('hex'))).size).toBe(3);
  });
});

describe('the kept secret', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'vintem-secret-'));
  });
  afterEach(() => rm(dataDir, { recursive: true }));
  const load = () => loadSecrets(ids, { secret: null, secretPrevious: null, dataDir, databaseUrl: null });

  it('is made once, for its owner alone, also when several processes begin', async () => {
    const loaded = await Promise.all([load(), load(), load()]);
    const again = await load();
    for (const each of loaded) expect(each.currentPepper).toEqual(again.currentPepper);
    expect((await stat(join(dataDir, 'secret'))).mode & 0o777).toBe(0o600);
    expect(Buffer.from(await readFile(join(dataDir, 'secret'), 'utf8'), 'base64')).toHaveLength(32);
  });

  it('gives way to the setting', async () => {
    await load();
    const set = await loadSecrets(ids, { secret: two, secretPrevious: null, dataDir, databaseUrl: null });
    expect(set.currentPepper).toEqual(createSecrets(ids, two).currentPepper);
  });
});

it('beside a database elsewhere no secret is generated where it would be lost', async () => {
  // Linux keeps /dev/shm in memory; other systems do not tell.
  const dataDir = process.platform === 'linux' ? '/dev/shm' : tmpdir();
  const settings = { secret: null, secretPrevious: null, dataDir, databaseUrl: 'postgres://127.0.0.1/v' };
  const problem = await secretProblem(settings);
  if (process.platform !== 'linux') return expect(problem).toBeNull();
  expect(problem).toContain('VINTEM_SECRET: is missing');
  await expect(loadSecrets(ids, settings)).rejects.toThrow('would be lost');
  expect(await secretProblem({ ...settings, databaseUrl: null })).toBeNull();
  expect(await secretProblem({ ...settings, secret: Buffer.alloc(32) })).toBeNull();
});
