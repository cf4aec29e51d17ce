import { createHmac } from 'node:crypto';
import { type NetAnswer, NetFailure, type NetRequest, NotSent } from '../../server/src/ports/net.ts';
import type { Finding } from './checks.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

export const receiverUrl = 'https://loja.example/vintem';

/** A merchant's endpoint: it verifies what it gets by the published recipe, keeps it, and answers well or badly. */
export interface Receiver {
  /** How often a request goes wrong in one of the ways below, 0 to 1. */
  trouble: number;
  handle(request: NetRequest, answered: (answer: NetAnswer | Error) => void): void;
  /** Events that it answered with 2xx. */
  readonly accepted: ReadonlySet<string>;
  /** Each event's bytes, as they came first. */
  readonly bodies: ReadonlyMap<string, string>;
  readonly findings: Finding[];
}

const troubles = ['notSent', 'lost', 'hang', 'error', 'redirect', 'tooMany', 'late', 'answerLost'] as const;

/** @param secret `whsec_…`, as it was shown at the endpoint's creation */
export function createReceiver(world: World, random: Random, secret: string): Receiver {
  const accepted = new Set<string>();
  const bodies = new Map<string, string>();
  const findings: Finding[] = [];
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');

  function take({ headers = {}, body }: NetRequest): void {
    const text = String(body ?? '');
    const id = headers['webhook-id'] ?? '';
    const at = headers['webhook-timestamp'] ?? '';
    const signature = createHmac('sha256', key).update(`${id}.${at}.${text}`).digest('base64');
    if (!(headers['webhook-signature'] ?? '').split(' ').includes(`v1,${signature}`))
      findings.push({ invariant: 43, what: `the signature of event ${id} does not verify` });
    const first = bodies.get(id);
    if (first === undefined) bodies.set(id, text);
    else {
      world.count('event delivered again');
      if (first !== text) findings.push({ invariant: 42, what: `event ${id} came with other bytes` });
    }
  }

  const receiver: Receiver = {
    trouble: 0,
    accepted,
    bodies,
    findings,
    handle: (request, answered) => {
      const soon = () => world.now() + random.below(40);
      const answer = (status: number, headers: Record<string, string> = {}) =>
        answered({ status, headers, text: '' });
      const broke = () => answered(new NetFailure('the connection broke', { timedOut: false }));
      const accept = () => {
        take(request);
        accepted.add(request.headers?.['webhook-id'] ?? '');
      };
      const trouble = random.chance(receiver.trouble) ? random.pick(troubles) : 'well';
      world.count(`endpoint ${trouble}`);
      switch (trouble) {
        case 'well':
          return world.at(soon(), () => {
            accept();
            world.at(soon(), () => answer(200));
          });
        case 'notSent':
          return world.at(soon(), () => answered(new NotSent('refused')));
        case 'lost':
          return world.at(soon(), broke);
        case 'hang':
          // The caller's time limit ends it.
          return world.at(soon(), () => take(request));
        case 'error':
          return world.at(soon(), () => answer(random.pick([500, 502, 503, 404])));
        case 'redirect':
          return world.at(soon(), () => answer(302, { location: 'https://elsewhere.example/' }));
        case 'tooMany':
          return world.at(soon(), () => answer(429, { 'retry-after': String(1 + random.below(60)) }));
        case 'late':
          // Accepted, but answered after the sender's timeout.
          return world.at(soon(), () => {
            take(request);
            world.at(world.now() + request.timeoutMs + 1, () => answer(200));
          });
        case 'answerLost':
          return world.at(soon(), () => {
            take(request);
            world.at(soon(), broke);
          });
      }
    },
  };
  return receiver;
}
