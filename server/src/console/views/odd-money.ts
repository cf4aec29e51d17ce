import type { ApiScope } from '../../edge/edge.ts';
import { IdParams } from '../../ground/schema.ts';
import {
  bodyOfRuleChange,
  type OddMoneyWanted,
  oddMoneyRuleOf,
  oddMoneyWanted,
  type ShownOddMoney,
  setOddMoneyRule,
  shownOddMoney,
} from '../../operate/accounts/odd-money.ts';
import { PanelError } from '../../panel/errors.ts';
import { MovesTooMuch } from '../../store/as-shown.ts';
import type { Operator } from '../../store/operator.ts';
import { asPanelError, atAccount } from '../place.ts';
import { ask } from '../requests/requests.ts';
import { consoleConfig } from '../route.ts';
import { AskedSchema, OddMoneyBody, OddMoneyChangeBody, ShownOddMoneySchema } from '../schema.ts';
import type { DecideDeps } from './decide.ts';

const tags = ['Operator'];

type Wished = { kinds: readonly string[]; mostCents: number };

/** The rule by which the people of an account decide about odd money. What it newly leaves above the threshold takes two operators. */
export function oddMoneyRoutes(api: ApiScope, deps: DecideDeps): void {
  api.post(
    '/accounts/:id/odd-money/acts',
    {
      schema: {
        tags,
        summary: 'A change of the rule of odd money as it would be made',
        params: IdParams('Account'),
        body: OddMoneyBody,
        response: { 200: ShownOddMoneySchema },
      },
      config: consoleConfig,
    },
    async ({ params, body, operator: { email } }) => {
      const seen = await asPanelError(changeNow(await atAccount(deps, params.id, email), params.id, body));
      return {
        ...{ before: ruleView(seen.before), after: ruleView(seen.after), shown: seen.shown },
        ...{ movedCents: seen.movedCents, alone: seen.movedCents <= deps.aloneCents },
      };
    },
  );

  api.post(
    '/accounts/:id/odd-money',
    {
      schema: {
        tags,
        summary: 'Changes the rule of odd money as it was shown, or asks a second person for it',
        params: IdParams('Account'),
        body: OddMoneyChangeBody,
        response: { 200: AskedSchema },
      },
      config: consoleConfig,
    },
    async ({ params, body: { shown, reason, ...wished }, operator: person }) => {
      const operator = await atAccount(deps, params.id, person.email);
      const seen = await asPanelError(changeNow(operator, params.id, wished));
      if (seen.shown !== shown) throw new PanelError('facts_changed');
      const agreed = { shown, mostCents: deps.aloneCents };
      const made = await setOddMoneyRule(operator, params.id, seen.after, { reason, agreed }).catch(
        (error: unknown) => {
          if (error instanceof MovesTooMuch) return null;
          return asPanelError(Promise.reject(error));
        },
      );
      if (made !== null) return { requestId: null };
      const act = 'changeOddMoneyRule' as const;
      const fields = { act, subject: params.id, body: bodyOfRuleChange(seen), postings: [] };
      const { movedCents } = seen;
      return { requestId: await ask(deps, person, { ...fields, movedCents, shown, reason }) };
    },
  );
}

/** @throws OperatorRefused no such account, or a rule that cannot be */
async function changeNow(
  operator: Operator,
  accountId: string,
  { kinds, mostCents }: Wished,
): Promise<ShownOddMoney> {
  const before = await oddMoneyRuleOf(operator, accountId);
  return shownOddMoney(before, oddMoneyWanted(kinds, mostCents));
}

export const ruleView = ({ kinds, mostCents }: OddMoneyWanted) => ({
  oddMoneyKinds: [...kinds],
  oddMoneyMostCents: mostCents,
});
