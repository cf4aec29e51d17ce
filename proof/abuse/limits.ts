import { chargesOfLink } from '../../server/src/api/links/charge-of-link.ts';
import { connectionsOfCaller } from '../../server/src/edge/connection-shares.ts';
import { searchUnits } from '../../server/src/edge/costs.ts';
import { defaultQuotas } from '../../server/src/ground/quotas.ts';
import { limits as attempts } from '../../server/src/panel/auth/attempts.ts';
import type { Counted } from './attack.ts';

/** How much an attack may get through in so many seconds. What the service said with other statuses was refused. */
interface Allowed {
  /** The weakness of the second review that it attacks. */
  of: string;
  through: readonly string[];
  most(seconds: number): number;
}

/** The amount that time gives back beside the burst, and calls under way at the ends of the measured time. */
const bucket =
  ({ burst, perSecond }: { burst: number; perSecond: number }, units = 1) =>
  (seconds: number) =>
    Math.ceil((burst + perSecond * (seconds + 5)) / units);
const window =
  ({ most, withinMs }: { most: number; withinMs: number }) =>
  (seconds: number) =>
    Math.ceil(most * (1 + ((seconds + 5) * 1000) / withinMs));
const ofLink = ({ most, everyMs }: { most: number; everyMs: number }) => window({ most, withinMs: everyMs });
const exactly = (most: number) => () => most;

export const allowed: Readonly<Record<string, Allowed>> = {
  'files of a viewer': { of: 'H1', through: ['200'], most: bucket(defaultQuotas.files) },
  'passkey challenges': { of: 'H2', through: ['200'], most: window(attempts.passkeyAddress) },
  'Pix keys that do not exist': {
    of: 'H3',
    through: ['400 pix_key_not_found'],
    most: exactly(defaultQuotas['refused-keys'].burst),
  },
  'refunds of one cent': { of: 'H4', through: ['201'], most: exactly(100) },
  'made-up keys': { of: 'M1', through: ['401'], most: bucket(defaultQuotas.auth) },
  'made-up accounts': { of: 'M1', through: ['401', '404'], most: bucket(defaultQuotas.visits) },
  'passwords out of one network': { of: 'M3', through: ['401'], most: window(attempts.signInAddress) },
  'searches without a hit': { of: 'M5', through: ['200'], most: bucket(defaultQuotas.reads, searchUnits) },
  'a balance without the right to read': { of: 'L1', through: ['shown'], most: exactly(0) },
  'resets of a test account': { of: 'L2', through: ['201'], most: bucket(defaultQuotas.resets) },
  'streams of a viewer': { of: 'L7', through: ['at once'], most: exactly(2) },
  'names that turn the line around': { of: 'L12', through: ['201'], most: exactly(0) },
  'endpoints of the platform': { of: 'L13', through: ['201'], most: exactly(0) },
  'silent connections': { of: 'M13', through: ['open'], most: exactly(connectionsOfCaller) },
  'an invitation of a demoted owner': { of: 'M2', through: ['200'], most: exactly(0) },
  'codes of a thief': { of: 'M7', through: ['401'], most: window(attempts.factorCode) },
  'the person beside a thief': {
    of: 'M7',
    through: ['shut out by 401', 'shut out by 403', 'shut out by 429'],
    most: exactly(0),
  },
  'a fresh app of a thief': { of: 'M8', through: ['shut out'], most: exactly(0) },
  'a member’s life in another account': { of: 'M9', through: ['seen', 'ended'], most: exactly(0) },
  'payments forged at the secret address': { of: 'M10', through: ['paid'], most: exactly(0) },
  'formulas in tables': { of: 'M11', through: ['formula'], most: exactly(0) },
  'codes two steps away': { of: 'L6', through: ['200'], most: exactly(0) },
  'two invitations to one address': { of: 'L8', through: ['500'], most: exactly(0) },
  'pages for one address': { of: '/pay', through: ['200'], most: bucket(defaultQuotas.pages) },
  'a thousand bots at one link': { of: '/pay', through: ['500', '503'], most: exactly(0) },
  'charges of a link for one network': { of: '/pay', through: ['201'], most: ofLink(chargesOfLink.network) },
  'charges of a link': { of: '/pay', through: ['201'], most: ofLink(chargesOfLink.account) },
  'addresses and receipts guessed': { of: '/pay', through: ['200'], most: exactly(0) },
  'open pages of one address': { of: '/pay', through: ['at once'], most: exactly(50) },
  'deliveries with a forged certificate': { of: 'M14', through: ['200', '201', '204'], most: exactly(0) },
};

/** Attacks that got further than their limit, or did not get anywhere at all: those show nothing. */
export function limitsPassed(attacks: Readonly<Record<string, Counted>>, seconds: number): string[] {
  return Object.entries(allowed).flatMap(([attack, { of, through, most }]) => {
    const counted = attacks[attack];
    if (counted === undefined || counted.done === 0) return [`${of}: ${attack} was not tried`];
    const answered = Object.entries(counted.statuses).reduce(
      (sum, [status, times]) => sum + (status === 'no answer' ? 0 : times),
      0,
    );
    if (answered === 0) return [`${of}: ${attack} was never answered`];
    const got = through.reduce((sum, status) => sum + (counted.statuses[status] ?? 0), 0);
    return got > most(seconds)
      ? [`${of}: ${attack} got through ${got} times, at most ${most(seconds)} are allowed`]
      : [];
  });
}
