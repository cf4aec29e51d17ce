import { Agent, fetch, getGlobalDispatcher, type RequestInit, Response } from 'undici';
import { type Browser, openBrowser } from './browser.ts';
import type { Victims } from './victims.ts';

/**
 * The parts of every attack: bounded loops, and counts of what was answered. The attackers are a process of their own with a lower
 * priority, as if they had their own machines: what they cost the client that measures is what the service does for them.
 */
export interface Targets {
  /** Where everybody calls: the service, or the proxy in front of it. */
  url: string;
  /** As browsers name it: the proxy has TLS, of which the rig plays only what it says. */
  origin: string;
  /** The service's own port, past the proxy. */
  direct: string;
  /** Whether callers' addresses are those that `x-rig-address` says. */
  proxied: boolean;
  /** Key and account of a merchant that attacks as well. */
  key: string;
  /** More keys of its account, so that one attack does not use up the limit of another. */
  keys: Record<
    'searching' | 'missing1' | 'missing2' | 'missing3' | 'refunding' | 'polling' | 'renaming',
    string
  >;
  accountId: string;
  operationId: string;
  /** A charge of it that was paid. */
  paidId: string;
  /** A key of another account of its own, which it resets. */
  resettingKey: string;
  /** Cookie and CSRF token of its owner in the panel. */
  cookie: string;
  csrf: string;
  /** The same of a person who may only look. */
  viewerCookie: string;
  victims: Victims;
  /** Where the mails to the victims are: their owners read them. */
  dataDir: string;
}

export interface Counted {
  done: number;
  /** By status, and by the code of a refusal where the attack counts it. */
  statuses: Record<string, number>;
}

export type FromAttackers = { attack: string; counted: Counted } | { stopped: true };

export const targets = JSON.parse(process.env.ABUSE_TARGETS ?? '{}') as Targets;
export const api = `${targets.url}/api/v1/public`;
export const panel = `${targets.url}/panel/api`;
export const own = `${panel}/accounts/${targets.accountId}`;

export const json = { 'content-type': 'application/json' };
export const withKey = (key: string) => ({ ...json, authorization: `Bearer ${key}` });
export const asMerchant = withKey(targets.key);
export const asOwner = {
  ...json,
  cookie: targets.cookie,
  'x-csrf-token': targets.csrf,
  origin: targets.origin,
};
export const asViewer = { cookie: targets.viewerCookie };
export const asStranger = { ...json, origin: targets.origin };

let stopping = false;
export const stop = (): void => {
  stopping = true;
};
export const isStopping = (): boolean => stopping;
export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
export const oneOf = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;

export const counted = new Map<string, Counted>();
export function count(attack: string, status: number | string): void {
  const one = counted.get(attack) ?? { done: 0, statuses: {} };
  one.done++;
  one.statuses[status] = (one.statuses[status] ?? 0) + 1;
  counted.set(attack, one);
}

const agents = new Map<string, Agent>();
/** Connections from an address of this machine. Linux answers on all of 127.0.0.0/8. */
function agentOf(from: string): Agent {
  const known = agents.get(from);
  if (known) return known;
  const made = new Agent({ connections: 64, keepAliveTimeout: 4_000, localAddress: from });
  agents.set(from, made);
  return made;
}

/** Ends the connections of the attackers' own pools: what is left open then is what the service has to let go. */
export const closePools = (): Promise<unknown> =>
  Promise.all([...agents.values(), getGlobalDispatcher()].map((one) => one.close()));

export interface Sent extends RequestInit {
  /** Whose address the call comes from; default: 127.0.0.1. */
  from?: string;
  /** Behind the proxy any address can be a caller's, also of IPv6. */
  as?: string;
}

const fetchFrom = (url: string, { from, as, headers, ...options }: Sent): Promise<Response> =>
  fetch(url, {
    ...options,
    headers: {
      ...(headers as Record<string, string>),
      ...(as !== undefined && targets.proxied ? { 'x-rig-address': as } : {}),
    },
    ...(from === undefined ? {} : { dispatcher: agentOf(from) }),
    signal: AbortSignal.timeout(10_000),
  });

/** A browser at one of the victims' or attackers' own addresses. Status 0: the service or the proxy closed the connection. */
export const browserAt = (where: Pick<Sent, 'from' | 'as'>, cookies: Record<string, string> = {}): Browser =>
  openBrowser(
    targets,
    (url, options) => fetchFrom(url, { ...options, ...where }).catch(() => Response.error()),
    cookies,
  );

/** The address `n` of many: of IPv4 where callers come as they are, of an IPv6 network each behind the proxy. */
export const addressOf = (net: number, n: number): { from: string; as: string } => ({
  from: `127.${net}.${Math.floor(n / 250) % 250}.${(n % 250) + 1}`,
  as: `2001:db8:${net.toString(16)}:${(n % 65_000).toString(16)}::1`,
});

/** @returns status and body, or null when there was no answer */
export async function ask(url: string, options: Sent = {}): Promise<{ status: number; text: string } | null> {
  try {
    const answer = await fetchFrom(url, options);
    return { status: answer.status, text: await answer.text() };
  } catch {
    return null;
  }
}

/** Sends and counts the status. */
export async function send(attack: string, url: string, options: Sent = {}): Promise<void> {
  count(attack, (await ask(url, options))?.status ?? 'no answer');
}

export const post = (
  attack: string,
  url: string,
  headers: Record<string, string>,
  body: object,
  where: Pick<Sent, 'from' | 'as'> = {},
): Promise<void> => send(attack, url, { method: 'POST', headers, body: JSON.stringify(body), ...where });

/** `perSecond` calls at most, `atOnce` under way. */
export function flood(
  atOnce: number,
  perSecond: number,
  call: (n: number) => Promise<void>,
): Promise<unknown> {
  let n = 0;
  const one = async () => {
    while (!stopping) {
      const began = performance.now();
      await call(n++);
      await sleep(Math.max(0, (1000 * atOnce) / perSecond - (performance.now() - began)));
    }
  };
  return Promise.all(Array.from({ length: atOnce }, one));
}
