/** How much a bucket lets through. */
export interface Quota {
  perSecond: number;
  /** How many calls a bucket that was left alone holds. */
  burst: number;
}

/**
 * Per key, and of the panel per person and account; `account`, `account-files` and `refused-keys` per account, over all its keys and people;
 * `auth`, `visits` and `pages` per address.
 */
export const defaultQuotas = {
  reads: { perSecond: 100, burst: 200 },
  /** Files of a statement: each may cost a second of work. */
  files: { perSecond: 1, burst: 10 },
  /** The same over all keys and people of an account: twenty keys would make two hundred at once. */
  'account-files': { perSecond: 2, burst: 20 },
  charges: { perSecond: 50, burst: 100 },
  transfers: { perSecond: 20, burst: 40 },
  operations: { perSecond: 5, burst: 20 },
  webhooks: { perSecond: 5, burst: 20 },
  account: { perSecond: 300, burst: 600 },
  /** Each leaves an account more, which is kept. */
  resets: { perSecond: 6 / 3600, burst: 6 },
  auth: { perSecond: 20 / 60, burst: 20 },
  /** Calls of the panel, before anything is looked up; an office may share an address. */
  visits: { perSecond: 50, burst: 500 },
  /** Calls of payers' pages, before a token is looked at; a telephone network shows many payers as one address. */
  pages: { perSecond: 50, burst: 500 },
  /** Counted in the database, before the send (`api/transfers/key-places.ts`). Each Pix key that is not found costs the provider account twenty of its thousand directory tokens. */
  'refused-keys': { perSecond: 30 / 3600, burst: 30 },
} as const satisfies Record<string, Quota>;

export type QuotaName = keyof typeof defaultQuotas;

/** Counted before an account is known: no account can have its own. */
export const addressQuotas: readonly QuotaName[] = ['auth', 'visits', 'pages'];

/** How many requests of a key may be under way at once in a process. */
export const defaultInFlight = 256;

/** The quotas that differ from the defaults. */
export type Quotas = Partial<Record<QuotaName, Quota>> & { 'in-flight'?: { atOnce: number } };

export const quotaNames = Object.keys(defaultQuotas) as QuotaName[];

/**
 * `reads=200/400,transfers=0.5/10,in-flight=500`: calls a second, and how many at once; of `in-flight` the number alone.
 * @returns null for what cannot be read
 */
export function parseQuotas(text: string): Quotas | null {
  const quotas: Quotas = {};
  for (const part of text.split(',')) {
    const inFlight = /^\s*in-flight=(\d{1,6})\s*$/.exec(part);
    if (inFlight) {
      const atOnce = Number(inFlight[1]);
      if (quotas['in-flight'] || atOnce < 1) return null;
      quotas['in-flight'] = { atOnce };
      continue;
    }
    const match = /^\s*([a-z-]+)=(\d{1,6}(?:\.\d{1,6})?)\/(\d{1,6})\s*$/.exec(part);
    if (!match) return null;
    const [name, perSecond, burst] = [match[1] as QuotaName, Number(match[2]), Number(match[3])];
    if (!quotaNames.includes(name) || quotas[name] || perSecond <= 0 || burst < 1) return null;
    quotas[name] = { perSecond, burst };
  }
  return quotas;
}
