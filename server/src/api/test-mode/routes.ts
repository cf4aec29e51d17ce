import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import { advanceClock, type ClockDeps, showClock, startClock } from './clock.ts';
import { type ResetDeps, resetAccount } from './reset.ts';
import {
  ActedSchema,
  AdvanceBody,
  bodies,
  ClockSchema,
  disputeSummaries,
  ResetSchema,
  summaries,
} from './schema.ts';
import { acts, disputeActs, type SimulationDeps, simulate, simulateDispute } from './simulate.ts';

const facts: RouteFacts = { permissions: ['simulate'], policy: 'charges', operation: 'resolve' };

const tags = ['Test mode'];

export type TestDeps = SimulationDeps & ClockDeps & ResetDeps;

/** Calls of test accounts, under a prefix of their own: the public API has no call that decides a payment. */
export function testRoutes(api: ApiScope, cellOf: CellOf<TestDeps>): void {
  actRoutes(api, cellOf);
  disputeActRoutes(api, cellOf);
  clockRoutes(api, cellOf);
  api.post('/reset', resetOptions, async (request, reply) =>
    reply.code(201).send(await resetAccount(cellOf(request), request.caller)),
  );
}

const ofAccount: RouteFacts = { ...facts, operation: 'syntax' };

/** The call that begins again; the panel asks more of a person than of a key. */
export const resetOptions = {
  schema: {
    tags,
    summary: 'Begin again with an empty account, under the same keys, people and conditions',
    body: EmptyBody,
    response: { 201: ResetSchema },
  },
  config: { api: { ...ofAccount, policy: 'resets', creates: true } },
} as const;

/** The account's clock. */
export function clockRoutes(api: ApiScope, cellOf: CellOf<ClockDeps>): void {
  api.get(
    '/clock',
    {
      schema: { tags, summary: "The account's test clock", response: { 200: ClockSchema } },
      config: { api: { ...ofAccount, policy: 'reads' } },
    },
    (request) => showClock(cellOf(request), request.caller),
  );
  api.post(
    '/clock',
    {
      schema: {
        tags,
        summary: 'Give the account a test clock',
        body: EmptyBody,
        response: { 200: ClockSchema },
      },
      config: { api: ofAccount },
    },
    (request) => startClock(cellOf(request), request.caller),
  );
  api.post(
    '/clock/advance',
    {
      schema: {
        tags,
        summary: 'Move the test clock forward, through everything that falls due on the way',
        body: AdvanceBody,
        response: { 200: ClockSchema },
      },
      config: { api: ofAccount },
    },
    (request) => advanceClock(cellOf(request), request.caller, request.body.to),
  );
}

/** The simulator's acts on one payment. */
export function actRoutes(api: ApiScope, cellOf: CellOf<SimulationDeps>): void {
  for (const act of acts) {
    api.post(
      `/payments/:id/${act}`,
      {
        schema: {
          tags,
          summary: summaries[act],
          params: IdParams('Id of a payment of a test account'),
          body: bodies[act],
          response: { 200: ActedSchema },
        },
        config: { api: facts },
      },
      async (request) => {
        await simulate(cellOf(request), request.caller, request.params.id, act, request.body);
        return { ok: true as const };
      },
    );
  }
}

/** The provider's acts on a dispute. */
export function disputeActRoutes(api: ApiScope, cellOf: CellOf<SimulationDeps>): void {
  for (const act of disputeActs) {
    api.post(
      `/disputes/:id/${act}`,
      {
        schema: {
          tags,
          summary: disputeSummaries[act],
          params: IdParams('Id of a dispute of a test account'),
          body: EmptyBody,
          response: { 200: ActedSchema },
        },
        config: { api: facts },
      },
      async (request) => {
        await simulateDispute(cellOf(request), request.caller, request.params.id, act);
        return { ok: true as const };
      },
    );
  }
}
