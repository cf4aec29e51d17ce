import { createOTP } from '@better-auth/utils/otp';
import { totpOf } from '@vintem/testkit/panel.ts';
import { expect, test } from 'vitest';
import { stepOf } from './app-codes.ts';

const shared = 'thirty-two letters of the secret';
/** As the app gets it. */
const secret =
  new URL(createOTP(shared).url('vintem', 'ana@padaria.example')).searchParams.get('secret') ?? '';

test('A code of the app counts in its own half minute and the one behind it, and never before', async () => {
  const now = 1_800_000_000_000;
  const at = (ms: number) => stepOf(shared, totpOf(secret, now + ms), now);
  const step = now / 30_000;
  expect(await at(0)).toBe(step);
  expect(await at(29_999)).toBe(step);
  expect(await at(-1)).toBe(step - 1);
  expect(await at(-30_000)).toBe(step - 1);
  expect(await at(-30_001)).toBe(null);
  expect(await at(30_000)).toBe(null);
  expect(await at(90_000)).toBe(null);
});
