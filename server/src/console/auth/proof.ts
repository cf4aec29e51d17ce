import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { Secrets } from '../../ground/secrets.ts';
import { stepOf } from '../../panel/auth/app-codes.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { findAppSecret, holdOperator, useAppStep } from '../people/operators.sql.ts';
import type { Asked } from '../people/passkeys.sql.ts';
import { counts, type Passkeys } from './passkeys.ts';

/** A factor that an operator shows. */
export interface Factor {
  /** Of the authenticator app. */
  code?: string;
  /** Of a passkey. */
  response?: AuthenticationResponseJSON;
}

export interface ProofDeps {
  sql: Sql;
  clock: Clock;
  ids: Ids;
  secrets: Pick<Secrets, 'open'>;
  passkeys: Passkeys;
}

/**
 * Looks at a factor of one operator, uses it up, and does what it was shown for, all in one transaction.
 * @param asked what a passkey was asked to sign for
 * @returns null: it is none of theirs, or was used before
 */
export async function withFactor<T>(
  deps: ProofDeps,
  operatorId: string,
  { asked, factor }: { asked: Asked; factor: Factor },
  act: (tx: Queries, shown: { email: string; method: 'app' | 'passkey' }) => Promise<T>,
): Promise<T | null> {
  const { sql, passkeys } = deps;
  if (factor.response) {
    const shown = await passkeys.shownBy(asked, factor.response);
    if (shown?.passkey.operatorId !== operatorId) return null;
    return sql.tx(async (tx) => {
      const email = await holdOperator(tx, operatorId);
      // The note about a copy stays written.
      if (email === undefined || !(await counts(tx, deps, shown))) return null;
      return act(tx, { email, method: 'passkey' });
    });
  }
  const step = await stepShown(deps, operatorId, factor.code ?? '');
  if (step === null) return null;
  return sql.tx(async (tx) => {
    const email = await holdOperator(tx, operatorId);
    if (email === undefined || !(await useAppStep(tx, operatorId, step))) return null;
    return act(tx, { email, method: 'app' });
  });
}

async function stepShown(
  { sql, clock, secrets }: ProofDeps,
  operatorId: string,
  code: string,
): Promise<number | null> {
  const sealed = await findAppSecret(sql, operatorId);
  if (!sealed) return null;
  return stepOf(secrets.open(sealed, operatorId).toString(), code, clock.now());
}

const freshMs = 10 * 60_000;

/**
 * Ways to sign in are changed only after a factor was shown again in this session; the sign-in itself does not count, so that a session which was
 * found open changes none.
 * @throws PanelError `fresh_factor_required`
 */
export function requireProved({ provedAt }: { provedAt: number | null }, nowMs: number): void {
  if (provedAt === null || nowMs - provedAt > freshMs) throw new PanelError('fresh_factor_required');
}
