import { createOTP } from '@better-auth/utils/otp';

/** Of one code of an authenticator app. */
export const appPeriodSeconds = 30;
/** The step of now, and the one before for the delay of the network and the person (RFC 6238, 5.2): a code lives for at most a minute. */
const toleratedSteps = [0, -1] as const;

/** The time step whose code this is; null: of none that is tolerated now. */
export async function stepOf(secret: string, code: string, nowMs: number): Promise<number | null> {
  const otp = createOTP(secret, { digits: 6, period: appPeriodSeconds });
  const now = Math.floor(nowMs / (appPeriodSeconds * 1000));
  for (const offset of toleratedSteps) {
    if ((await otp.hotp(now + offset)) === code) return now + offset;
  }
  return null;
}
