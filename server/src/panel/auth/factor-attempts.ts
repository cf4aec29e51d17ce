import { countedBy } from '../../edge/caller-address.ts';
import type { Log } from '../../ground/log.ts';
import type { PanelMails } from '../people/mails.ts';
import type { Attempts } from './attempts.ts';
import type { KnownDevices } from './known-device.ts';

/** One try at a code, of a person who has shown the password or a session. */
export interface FactorTry {
  user: { id: string; email: string };
  method: 'app' | 'backup code';
  cookie: string | undefined;
  /** As `callerAddress` gives it. */
  address: string;
}

/**
 * Counts codes of the app and backup codes. A thief of the password can use up the tries of browsers that the person never used, and
 * none of the person's own: those are counted by browser. The person gets a mail before the tries are used up.
 */
export interface FactorAttempts {
  /** Before the code is looked at. @returns false when the limit is reached */
  take(one: FactorTry): Promise<boolean>;
  /** The code was right. */
  settle(one: FactorTry): Promise<void>;
  /** The password is a new one: what was tried with the old one no longer counts. */
  forget(userId: string): Promise<void>;
}

export function factorAttempts(
  deps: { mails: PanelMails; log: Log },
  attempts: Attempts,
  devices: KnownDevices,
): FactorAttempts {
  const strange = (userId: string, method: FactorTry['method']): string => `${userId} ${method}`;

  /** The try that comes after three without a right one says so; a thief who tries more slowly reaches no limit either. */
  async function notice({ user, address }: FactorTry): Promise<void> {
    if (await attempts.tryTake('factorCodeNotice', user.id)) return;
    if (!(await attempts.tryTake('factorCodeMail', user.id))) return;
    deps.mails
      .wrongCodes(user.email, address)
      .catch((err: unknown) => deps.log.error({ err }, 'a mail was not sent'));
  }

  return {
    async take(one) {
      await notice(one);
      const device = devices.deviceOf(one.cookie, one.user.email);
      if (device !== null) return attempts.tryTake('factorCodeDevice', `${device} ${one.method}`);
      return (
        (await attempts.tryTake('factorCode', strange(one.user.id, one.method))) &&
        attempts.tryTake('factorCodeAddress', countedBy(one.address))
      );
    },
    async settle({ user, method, cookie, address }) {
      await attempts.forget('factorCodeNotice', user.id);
      const device = devices.deviceOf(cookie, user.email);
      if (device !== null) return attempts.forget('factorCodeDevice', `${device} ${method}`);
      await attempts.forget('factorCode', strange(user.id, method));
      await attempts.giveBack('factorCodeAddress', countedBy(address));
    },
    async forget(userId) {
      for (const method of ['app', 'backup code'] as const)
        await attempts.forget('factorCode', strange(userId, method));
    },
  };
}
