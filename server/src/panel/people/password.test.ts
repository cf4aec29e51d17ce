import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { expect, test } from 'vitest';
import { breachedPasswords } from './breached-passwords.ts';
import { hashPassword, isGuessable, isPassword } from './password.ts';

test('a hash fits its own password only, and says how it was made', async () => {
  const stored = await hashPassword('correct horse battery', Buffer.alloc(16, 1));
  expect(stored).toMatch(/^argon2id\$19456\$2\$/);
  expect(await isPassword(stored, 'correct horse battery')).toBe(true);
  expect(await isPassword(stored, 'correct horse batterx')).toBe(false);
  // As it was given: no other case, nothing cut off.
  expect(await isPassword(stored, 'Correct horse battery')).toBe(false);
  expect(await isPassword(stored, 'correct horse battery ')).toBe(false);
  expect(await isPassword('anything else', 'anything else')).toBe(false);
});

test('Two passwords at most are hashed at once in a process, and of a flood all beyond 64 are refused at once', async () => {
  const { argon2 } = crypto;
  const begun: (() => void)[] = [];
  crypto.argon2 = ((_kind, _given, done) => begun.push(() => done(null, Buffer.alloc(32)))) as typeof argon2;
  syncBuiltinESMExports();
  try {
    let refused = 0;
    const all = Array.from({ length: 80 }, () =>
      hashPassword('correct horse battery', Buffer.alloc(16)).catch(({ code }) => {
        expect(code).toBe('processing_unavailable');
        refused++;
      }),
    );
    await Promise.resolve();
    expect(begun).toHaveLength(2);
    for (let ended = 0; ended < 66; ended++) {
      expect(begun).toHaveLength(Math.min(66, ended + 2));
      begun[ended]?.();
      await new Promise(setImmediate);
    }
    await Promise.all(all);
    expect([begun.length, refused]).toEqual([66, 14]);
  } finally {
    crypto.argon2 = argon2;
    syncBuiltinESMExports();
  }
});

test('a password in another form of Unicode is the same password', async () => {
  const stored = await hashPassword('coração de leão', Buffer.alloc(16, 2));
  expect(await isPassword(stored, 'coração de leão'.normalize('NFD'))).toBe(true);
});

test.each([
  'password1234',
  'MeuVintem2026!',
  'Senha@123456',
  '123456789012',
  'aaaaaaaaaaaa',
  'abcabcabcabc',
  'abcdefghijklm',
  'qwerty123456',
  'maria.silva2024',
  'ghjcnjgfhjkm',
  'Unbelievable',
  'counterstrike1!',
  'maria.silva@loja.example',
])('%s can be guessed', async (password) => {
  expect(await isGuessable(password, 'maria.silva@loja.example')).toBe(true);
});

test.each(['correct horse battery', 'três tigres tristes', 'x7Kq-93mz-LLp2', 'girafa azul de patins'])(
  '%s is taken',
  async (password) => {
    expect(await isGuessable(password, 'maria.silva@loja.example')).toBe(false);
  },
);

test('at least 3,000 breached passwords that the length would allow are refused, in any case and with a tail', async () => {
  const breached = await breachedPasswords();
  expect(breached.size).toBeGreaterThan(3_000);
  for (const password of breached) {
    if (!(await isGuessable(password, 'maria.silva@loja.example'))) expect.fail('a breached one is taken');
  }
  expect(await isGuessable('ThreeDaysGrace', 'maria@loja.example')).toBe(true);
  expect(await isGuessable('threedaysgrace2026!', 'maria@loja.example')).toBe(true);
});
