import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { IdParams } from '../../ground/schema.ts';
import {
  bookReturnAsShown,
  type ReturnOfPayout,
  type ShownReturn,
  shownReturn,
} from '../../operate/returned-payout.ts';
import { PanelError } from '../../panel/errors.ts';
import { MovesTooMuch } from '../../store/as-shown.ts';
import { asPanelError, atPayment } from '../place.ts';
import { ask, returnBodyOf } from '../requests/requests.ts';
import { consoleConfig } from '../route.ts';
import { AskedSchema, ReturnBody, ReturnChangeBody, ShownReturnSchema } from '../schema.ts';
import { type DecideDeps, postingView } from './decide.ts';

const tags = ['Operator'];

/** A return that names no payment, given to the transfer that it is of. Above the threshold it takes two operators. */
export function returnedRoutes(api: ApiScope, deps: DecideDeps): void {
  api.post(
    '/payments/:id/return/acts',
    {
      schema: {
        tags,
        summary: 'A return of a transfer with its postings, as it would be booked',
        params: IdParams('Payment'),
        body: ReturnBody,
        response: { 200: ShownReturnSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator: { email } }) => {
      const operator = await atPayment(deps, params.id, email);
      return view(await asPanelError(shownReturn(deps, operator, wantedOf(params.id, body))), deps);
    },
  );

  api.post(
    '/payments/:id/return',
    {
      schema: {
        tags,
        summary: 'Books a return of a transfer as it was shown, or asks a second person for it',
        params: IdParams('Payment'),
        body: ReturnChangeBody,
        response: { 200: AskedSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body: { shown, reason, ...given }, operator: person }) => {
      const operator = await atPayment(deps, params.id, person.email);
      const wanted = wantedOf(params.id, given);
      const agreed = { shown, mostCents: deps.aloneCents };
      const booked = await bookReturnAsShown(deps, operator, { ...wanted, reason }, agreed).catch(
        (error: unknown) => {
          if (error instanceof MovesTooMuch) return null;
          return asPanelError(Promise.reject(error));
        },
      );
      if (booked !== null) return { requestId: null };
      const seen = await asPanelError(shownReturn(deps, operator, wanted));
      if (seen.shown !== shown) throw new PanelError('facts_changed');
      const act = 'bookReturn' as const;
      const fields = { act, subject: params.id, body: returnBodyOf(wanted), ...seen, reason };
      return { requestId: await ask(deps, person, fields) };
    },
  );
}

const wantedOf = (
  paymentId: string,
  { returnId, amountCents, at }: Static<typeof ReturnBody>,
): ReturnOfPayout => ({
  paymentId,
  returnId,
  amountCents: amountCents ?? null,
  at: at === undefined ? null : Date.parse(at),
});

const view = ({ postings, ...seen }: ShownReturn, { aloneCents }: DecideDeps) => ({
  ...seen,
  postings: postings.map(postingView),
  alone: seen.movedCents <= aloneCents,
});
