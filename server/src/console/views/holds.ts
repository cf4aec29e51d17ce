import type { ApiScope } from '../../edge/edge.ts';
import { IdParams } from '../../ground/schema.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { type HoldView, listHolds } from '../../operate/accounts/holds.ts';
import {
  placeAsShown,
  type ShownHold,
  shownPlace,
  shownRelease,
} from '../../operate/accounts/shown-holds.ts';
import { PanelError } from '../../panel/errors.ts';
import { asPanelError, atHold, atOperation } from '../place.ts';
import { ask, type RequestDeps } from '../requests/requests.ts';
import { consoleConfig } from '../route.ts';
import {
  AmountBody,
  AskedSchema,
  HoldBody,
  HoldsSchema,
  Nothing,
  ShownBody,
  ShownSchema,
} from '../schema.ts';
import { postingView } from './decide.ts';

const tags = ['Operator'];

/** Holds of an operation. One person places a hold; its end takes two. Both are shown first. */
export function holdRoutes(api: ApiScope, deps: RequestDeps): void {
  api.get(
    '/operations/:id/holds',
    {
      schema: {
        tags,
        summary: 'The holds of an operation',
        params: IdParams('Operation'),
        response: { 200: HoldsSchema },
      },
      config: consoleConfig,
    },
    async ({ params, operator: { email } }) => {
      const operator = await atOperation(deps, params.id, email);
      return { holds: (await asPanelError(listHolds(operator, params.id))).map(holdView) };
    },
  );

  api.post(
    '/operations/:id/holds/acts',
    {
      schema: {
        tags,
        summary: 'A new hold with its postings, as it would be placed',
        params: IdParams('Operation'),
        body: AmountBody,
        response: { 200: ShownSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body: { amountCents }, operator: { email } }) => {
      const operator = await atOperation(deps, params.id, email);
      return shownView(await asPanelError(shownPlace(operator, { operationId: params.id, amountCents })));
    },
  );

  api.post(
    '/operations/:id/holds',
    {
      schema: {
        tags,
        summary: 'Places a hold as it was shown',
        params: IdParams('Operation'),
        body: HoldBody,
        response: { 200: HoldsSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body: { shown, ...body }, operator: { email } }) => {
      const operator = await atOperation(deps, params.id, email);
      const wanted = { operationId: params.id, ...body };
      return { holds: [holdView(await asPanelError(placeAsShown(operator, wanted, shown)))] };
    },
  );

  api.post(
    '/holds/:id/acts',
    {
      schema: {
        tags,
        summary: 'The end of a hold with its postings',
        params: IdParams('Hold'),
        body: Nothing,
        response: { 200: ShownSchema },
      },
      config: consoleConfig,
    },
    async ({ params, operator: { email } }) =>
      shownView(await asPanelError(shownRelease(await atHold(deps, params.id, email), params.id))),
  );

  api.post(
    '/holds/:id/release',
    {
      schema: {
        tags,
        summary: 'Asks a second person to end a hold as it was shown',
        params: IdParams('Hold'),
        body: ShownBody,
        response: { 200: AskedSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body: { reason, shown }, operator: person }) => {
      const seen = await asPanelError(shownRelease(await atHold(deps, params.id, person.email), params.id));
      if (seen.shown !== shown) throw new PanelError('facts_changed');
      const act = 'releaseHold' as const;
      return { requestId: await ask(deps, person, { act, subject: params.id, body: {}, ...seen, reason }) };
    },
  );
}

const shownView = ({ postings, ...rest }: ShownHold) => ({ ...rest, postings: postings.map(postingView) });

const holdView = ({ placedAt, releasedAt, ...hold }: HoldView) => ({
  ...hold,
  placedAt: isoOf(placedAt),
  releasedAt: releasedAt === null ? null : isoOf(releasedAt),
});
