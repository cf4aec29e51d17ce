import type { GenericEndpointContext } from '@better-auth/core';
import { APIError, getSessionFromCtx } from 'better-auth/api';
import { symmetricDecrypt } from 'better-auth/crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { useTotpStep } from '../people/members.sql.ts';
import { stepOf } from './app-codes.ts';
import { addressHeader } from './auth-calls.ts';
import type { FactorAttempts } from './factor-attempts.ts';

/**
 * Runs before better-auth checks a code of the app or a backup code. It counts the attempt in the database, and uses up the code's time
 * step, so that only one of several parallel requests with the same code continues.
 */
export const guardFactorCodes =
  (deps: { sql: Sql; clock: Clock; factorAttempts: FactorAttempts }) =>
  async (ctx: GenericEndpointContext): Promise<void> => {
    if (ctx.path !== '/two-factor/verify-totp' && ctx.path !== '/two-factor/verify-backup-code') return;
    const userId = await userOf(ctx, deps.clock.now());
    if (userId === null) return;
    const user = await ctx.context.internalAdapter.findUserById(userId);
    if (!user) return;
    const counted = await deps.factorAttempts.take({
      user,
      method: ctx.path === '/two-factor/verify-totp' ? 'app' : 'backup code',
      cookie: ctx.headers?.get('cookie') ?? undefined,
      address: ctx.headers?.get(addressHeader) ?? '',
    });
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
async function userOf(ctx: GenericEndpointContext, nowMs: number): Promise<string | null> {
  const signedIn = await getSessionFromCtx(ctx).catch(() => null);
  if (signedIn) return signedIn.user.id;
  const cookie = ctx.context.createAuthCookie('two_factor');
  const waiting = await ctx.getSignedCookie(cookie.name, ctx.context.secret);
  if (!waiting) return null;
  const found = await ctx.context.internalAdapter.findVerificationValue(waiting);
  // The library looks at the time of it later, and only once the code was right.
  return found && found.expiresAt.getTime() > nowMs ? found.value : null;
}
