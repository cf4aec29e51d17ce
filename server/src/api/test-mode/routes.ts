import type { ApiScope, RouteFacts } from '../../edge/edge.ts';
import type { Caller, KeyHolder } from '../../ground/caller.ts';
import { EmptyBody, IdParams } from '../../ground/schema.ts';
import type { ClockView } from './clock.ts';
import {
  ActedSchema,
  AdvanceBody,
  bodies,
  ClockSchema,
  disputeSummaries,
  ResetSchema,
  summaries,
} from './schema.ts';
import { type Act, acts, type DisputeAct, disputeActs } from './simulate.ts';

export interface TestCalls {
  showClock(holder: KeyHolder): Promise<ClockView>;
  startClock(holder: KeyHolder): Promise<ClockView>;
  advanceClock(holder: KeyHolder, to: string): Promise<ClockView>;
  reset(holder: KeyHolder): Promise<{ ownerId: string; operationId: string }>;
  simulate(caller: Caller, id: string, act: Act, given: object): Promise<void>;
  simulateDispute(caller: Caller, id: string, act: DisputeAct): Promise<void>;
}

const facts: RouteFacts = { permissions: ['simulate'], policy: 'charges', operation: 'resolve' };

const tags = ['Test mode'];

/** Calls of test accounts, under a prefix of their own: the public API has no call that decides a payment. */
export function testRoutes(api: ApiScope, calls: TestCalls): void {
  actRoutes(api, calls);
  disputeActRoutes(api, calls);
  clockRoutes(api, calls);
  api.post('/reset', resetOptions, async (request, reply) =>
    reply.code(201).send(await calls.reset(request.caller)),
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
export function clockRoutes(
  api: ApiScope,
  calls: Pick<TestCalls, 'showClock' | 'startClock' | 'advanceClock'>,
): void {
  api.get(
    '/clock',
    {
      schema: { tags, summary: "The account's test clock", response: { 200: ClockSchema } },
      config: { api: { ...ofAccount, policy: 'reads' } },
    },
    (request) => calls.showClock(request.caller),
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
    (request) => calls.startClock(request.caller),
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
    (request) => calls.advanceClock(request.caller, request.body.to),
  );
}

/** What the simulator does to one payment. */
export function actRoutes(api: ApiScope, { simulate }: Pick<TestCalls, 'simulate'>): void {
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
        await simulate(request.caller, request.params.id, act, request.body);
        return { ok: true as const };
      },
    );
  }
}

/** What the provider does with a dispute. */
export function disputeActRoutes(
  api: ApiScope,
  { simulateDispute }: Pick<TestCalls, 'simulateDispute'>,
): void {
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
        await simulateDispute(request.caller, request.params.id, act);
        return { ok: true as const };
      },
    );
  }
}
