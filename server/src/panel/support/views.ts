import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerAddress, callerNetwork } from '../../edge/caller-address.ts';
import { costOf } from '../../edge/costs.ts';
import type { Log } from '../../ground/log.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { type Live, liveRights } from '../auth/live-sessions.ts';
import { PanelError } from '../errors.ts';
import { findView, findViewsInForce } from '../people/support-views.sql.ts';
import { masked } from './mask.ts';

export const viewTokenHash = (token: string): Buffer => hash('sha256', token, 'buffer');

const randomLength = 43;
const tagOf = (key: Buffer, random: string): Buffer =>
  createHmac('sha256', key).update(random).digest().subarray(0, 16);

/** The tag names one of ours without a look-up: a stranger's made-up cookies ask the database for nothing. @param random 32 bytes */
export function newViewToken(key: Buffer, random: Buffer): string {
  const text = random.toString('base64url');
  return text + tagOf(key, text).toString('base64url');
}

function isOurToken(key: Buffer, token: string): boolean {
  const tag = Buffer.from(token.slice(randomLength), 'base64url');
  return tag.length === 16 && timingSafeEqual(tag, tagOf(key, token.slice(0, randomLength)));
}

export const viewKeyOf = ({ secrets }: { secrets: Pick<Secrets, 'derive'> }): Buffer =>
  secrets.derive('support views');

/** Neither the console's cookie nor a session of the panel, which alone looks at it. */
export function viewCookie(overTls: boolean) {
  const name = overTls ? '__Host-vintem-view' : 'vintem-view';
  const attributes = `Path=/; HttpOnly; SameSite=Strict${overTls ? '; Secure' : ''}`;
  return {
    tokenOf: ({ headers }: FastifyRequest): string | undefined =>
      headers.cookie
        ?.split('; ')
        .find((one) => one.startsWith(`${name}=`))
        ?.slice(name.length + 1),
    set: (token: string, seconds: number): string => `${name}=${token}; Max-Age=${seconds}; ${attributes}`,
    gone: `${name}=; Max-Age=0; ${attributes}`,
  };
}

export interface SupportViews {
  /** For streams: they end with the view. */
  live: Live<{ viewId: string }>;
  /** Before every call of the panel, whatever it is. @throws PanelError `view_reads_only`, `not_found` */
  admit(request: FastifyRequest): Promise<void>;
  /** The body of an answer as a view shows it. */
  shown(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown;
}

export interface SupportViewDeps {
  secrets: Pick<Secrets, 'derive'>;
  sql: Sql;
  clock: Clock;
  log: Log;
  draining: AbortSignal;
}

interface Site {
  overTls: boolean;
  /** Whether an operator may come from this address. */
  admits(address: string): boolean;
}

const streamOfEvents = '/panel/api/accounts/:account/events/stream';
const reading: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * The one place where a request becomes a support view, and where such a request is refused whatever is more than to read a page. A cookie of a
 * view that is over is none: the request is what it would be without it.
 */
export function supportViews(deps: SupportViewDeps, site: Site): SupportViews {
  const { sql, clock } = deps;
  const cookie = viewCookie(site.overTls);
  const key = viewKeyOf(deps);
  return {
    live: liveRights(deps, async (held) => {
      const ids = held.map(({ viewId }) => viewId);
      const inForce = new Set(await findViewsInForce(sql, ids, clock.now()));
      return ({ viewId }) => inForce.has(viewId);
    }),
    async admit(request) {
      const token = cookie.tokenOf(request);
      if (token === undefined || token.length > 80 || !isOurToken(key, token)) return;
      const view = await findView(sql, viewTokenHash(token), clock.now());
      if (!view || view.network !== callerNetwork(request) || !site.admits(callerAddress(request))) return;
      request.view = view;
      const { url } = request.routeOptions;
      if (!reading.has(request.method) || url === undefined) throw new PanelError('view_reads_only');
      // A file is for its reader alone, and an event goes out as it is.
      if (costOf(request.method, url).kind === 'file' || url === streamOfEvents)
        throw new PanelError('view_reads_only');
    },
    shown(request, reply, payload) {
      if (request.view === null || request.member === null || payload === null || payload === undefined)
        return payload;
      const isJson = String(reply.getHeader('content-type') ?? '').startsWith('application/json');
      if (isJson && (typeof payload === 'string' || Buffer.isBuffer(payload)))
        return JSON.stringify(masked(JSON.parse(String(payload))));
      // Pictures and whatever else no rule speaks of.
      throw new PanelError('view_reads_only');
    },
  };
}
