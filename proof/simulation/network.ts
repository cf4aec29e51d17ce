import { type NetAnswer, NetFailure, type NetRequest, NotSent } from '../../server/src/ports/net.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** The network between the service and a provider, and the errors of its front: the run's seed decides what is lost, late or refused on the way. */
export interface Faults {
  notSent: number;
  requestLost: number;
  /** The connection breaks, and the request arrives up to two hours later. */
  requestDelayed: number;
  answerLost: number;
  answerLate: number;
  errorBefore: number;
  errorAfter: number;
  tooMany: number;
  unreadable: number;
  wrongAmount: number;
  wrongId: number;
  notFound: number;
  stale: number;
  unauthorized: number;
  hookLost: number;
  hookDoubled: number;
  hookLate: number;
  hookForged: number;
  hookUnknown: number;
  hookOld: number;
}

export const noFaults: Faults = {
  notSent: 0,
  requestLost: 0,
  requestDelayed: 0,
  answerLost: 0,
  answerLate: 0,
  errorBefore: 0,
  errorAfter: 0,
  tooMany: 0,
  unreadable: 0,
  wrongAmount: 0,
  wrongId: 0,
  notFound: 0,
  stale: 0,
  unauthorized: 0,
  hookLost: 0,
  hookDoubled: 0,
  hookLate: 0,
  hookForged: 0,
  hookUnknown: 0,
  hookOld: 0,
};

/** The handling of a request that arrives; the fault bends its answer. */
export type Handle = (request: NetRequest, fault?: keyof Faults | null) => NetAnswer;

/** Brings a request to a provider, and its answer back, if ever. */
export function carry(
  { world, random, faults }: { world: World; random: Random; faults: Faults },
  request: NetRequest,
  handle: Handle,
  answered: (answer: NetAnswer | Error) => void,
) {
  const fault = draw(random, faults, request);
  if (fault !== null) world.count(`net ${fault}`);
  const soon = () => world.now() + random.below(40);
  const late = () => world.now() + request.timeoutMs + 1 + random.below(2_000);
  const fail = (at: number) =>
    world.at(at, () => answered(new NetFailure('the connection broke', { timedOut: false })));
  switch (fault) {
    case 'notSent':
      return world.at(soon(), () => answered(new NotSent('refused')));
    case 'requestLost':
      // Half of the lost ones are noticed, the others run into the time limit.
      return random.chance(0.5) ? fail(soon()) : undefined;
    case 'requestDelayed': {
      const wait = random.chance(0.5) ? 20_000 : 7_200_000;
      world.at(world.now() + 1 + random.below(wait), () => void handle(request));
      return fail(soon());
    }
    case 'answerLost':
      return world.at(soon(), () => {
        handle(request);
        fail(soon());
      });
    case 'answerLate':
      return world.at(soon(), () => {
        const answer = handle(request);
        world.at(late(), () => answered(answer));
      });
    case 'errorBefore':
      return world.at(soon(), () => answered(serverError(random)));
    case 'errorAfter':
      return world.at(soon(), () => {
        handle(request);
        answered(serverError(random));
      });
    case 'tooMany':
      return world.at(soon(), () =>
        answered({ status: 429, headers: { 'retry-after': String(1 + random.below(20)) }, text: '{}' }),
      );
    case 'unreadable':
      return world.at(soon(), () => {
        handle(request);
        answered({
          status: 200,
          headers: {},
          text: random.pick(['<html>down</html>', '{"valor":', '[]', 'null', '']),
        });
      });
    case 'unauthorized':
      return world.at(soon(), () => answered({ status: 401, headers: {}, text: '{}' }));
    default:
      return world.at(soon(), () => {
        const answer = handle(request, fault);
        world.at(soon(), () => answered(answer));
      });
  }
}

const faultsOfLogins = ['notSent', 'requestLost', 'errorBefore'] as const;
const faultsOfReads = [
  ...(['notSent', 'requestLost', 'answerLate', 'errorBefore', 'tooMany'] as const),
  ...(['unreadable', 'notFound', 'stale', 'wrongAmount', 'wrongId'] as const),
] as const;
const faultsOfChanges = [
  ...(['notSent', 'requestLost', 'requestDelayed', 'answerLost', 'answerLate', 'errorBefore'] as const),
  ...(['errorAfter', 'tooMany', 'unreadable', 'wrongAmount', 'wrongId', 'unauthorized'] as const),
] as const;

/** The faults of requests: of the network, and of the front of a provider. */
export const netFaults: ReadonlySet<keyof Faults> = new Set([...faultsOfReads, ...faultsOfChanges]);

function draw(random: Random, faults: Faults, { method, url }: NetRequest): keyof Faults | null {
  const kinds: readonly (keyof Faults)[] = url.endsWith('/oauth/token')
    ? faultsOfLogins
    : method === 'GET'
      ? faultsOfReads
      : faultsOfChanges;
  for (const kind of kinds) if (faults[kind] > 0 && random.chance(faults[kind])) return kind;
  return null;
}

const serverError = (random: Random): NetAnswer => ({
  status: random.pick([500, 502, 503, 504]),
  headers: {},
  text: '{}',
});
