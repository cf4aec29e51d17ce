import type { GenericEndpointContext } from '@better-auth/core';
import { createOTP } from '@better-auth/utils/otp';
import { APIError, getSessionFromCtx } from 'better-auth/api';
import { symmetricDecrypt } from 'better-auth/crypto';
import { countedBy } from '../../http/caller-address.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { useTotpStep } from '../members/members.sql.ts';
import type { Attempts } from './attempts.ts';
import { addressHeader } from './auth-calls.ts';

const stepMs = 30_000;
/** One step either way: RFC 6238, 5.2 advises at most one for the delay of the network. */
const toleratedSteps = [0, -1, 1] as const;

/**
 * Runs before better-auth checks a code of the app or a backup code. It counts the attempt in the database by person and address, and
 * uses up the code's time step, so that only one of several parallel requests with the same code continues.
 */
export const guardFactorCodes =
  (deps: { sql: Sql; clock: Clock; attempts: Attempts }) =>
  async (ctx: GenericEndpointContext): Promise<void> => {
    if (ctx.path !== '/two-factor/verify-totp' && ctx.path !== '/two-factor/verify-backup-code') return;
    const userId = await userOf(ctx);
    if (userId === null) return;
    const address = countedBy(ctx.headers?.get(addressHeader) ?? '');
    const counted =
      (await deps.attempts.tryTake('factorCode', userId)) &&
      (await deps.attempts.tryTake('factorCodeAddress', address));
    if (!counted) {
      throw new APIError('TOO_MANY_REQUESTS', { code: 'TOO_MANY_ATTEMPTS', message: 'too many codes' });
    }
    if (ctx.path !== '/two-factor/verify-totp') return;
    const stored = await ctx.context.adapter.findOne<{ secret: string }>({
      model: 'twoFactor',
      where: [{ field: 'userId', value: userId }],
    });
    if (!stored) return;
    const secret = await symmetricDecrypt({ key: ctx.context.secretConfig, data: stored.secret });
    const step = await stepOf(secret, String(ctx.body?.code ?? ''), deps.clock.now());
    if (step === null || !(await useTotpStep(deps.sql, userId, step))) {
      throw new APIError('UNAUTHORIZED', { code: 'INVALID_CODE', message: 'the code is wrong or was used' });
    }
  };

/** Whose second factor is asked for: of the session, or of the sign-in that waits for its code. */
async function userOf(ctx: GenericEndpointContext): Promise<string | null> {
  const signedIn = await getSessionFromCtx(ctx).catch(() => null);
  if (signedIn) return signedIn.user.id;
  const cookie = ctx.context.createAuthCookie('two_factor');
  const waiting = await ctx.getSignedCookie(cookie.name, ctx.context.secret);
  if (!waiting) return null;
  const found = await ctx.context.internalAdapter.findVerificationValue(waiting);
  return found?.value ?? null;
}

/** The time step whose code this is; null: of none that is tolerated now. */
async function stepOf(secret: string, code: string, nowMs: number): Promise<number | null> {
  const otp = createOTP(secret, { digits: 6, period: stepMs / 1000 });
  const now = Math.floor(nowMs / stepMs);
  for (const offset of toleratedSteps) {
    if ((await otp.hotp(now + offset)) === code) return now + offset;
  }
  return null;
}
