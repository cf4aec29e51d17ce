import { type Static, Type } from 'typebox';
import type { ApiScope, CellOf, RouteFacts } from '../../edge/edge.ts';
import { mailPeople } from '../../events/mail-people.ts';
import { brasiliaTime, type Letter, type Mail } from '../../ground/mail.ts';
import { priceOf } from '../../ground/money.ts';
import { Body, Cents, IdParams, OneOf, Time, Uuid } from '../../ground/schema.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { oddMoneyRuleOf } from '../../operate/accounts/odd-money.ts';
import { allowedActions, resolveAsShown } from '../../operate/incidents/allowed.ts';
import type { IncidentView } from '../../operate/incidents/incident.ts';
import {
  type MerchantAction,
  merchantActions,
  notOfMerchant,
} from '../../operate/incidents/merchant-rule.ts';
import { FactsChanged } from '../../store/as-shown.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { RehearsalBusy } from '../../store/rehearsal.ts';
import { isRestored } from '../../store/rows/conditions.sql.ts';
import { findIncident, findOpenOddMoney, type IncidentCase } from '../../store/rows/incidents.sql.ts';
import type { Attempts } from '../auth/attempts.ts';
import { type Member, note } from '../auth/session.ts';
import { PanelError } from '../errors.ts';
import { Nothing, NullableText, NullableUuid, PaymentNames } from '../schema/schema.ts';
import { findNames, operationsOf } from './records.ts';

const looks: RouteFacts = { permissions: ['read'], policy: 'reads', operation: 'syntax' };
const moves: RouteFacts = { permissions: ['refunds'], policy: 'transfers', operation: 'syntax' };
const tags = ['Panel'];

const shownMost = 100;

const Shown = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'Hash of the act with its postings, as they were shown',
});

const OddMoneySchema = Type.Object({
  sumCents: Cents('What waits for a decision'),
  mostCents: Cents(
    'The most of one Pix that the people of the account decide about; 0: the operator decides',
  ),
  waiting: Type.Array(
    Type.Object({
      id: Uuid('Incident'),
      kind: Type.String(),
      paymentId: NullableUuid('Payment'),
      payment: PaymentNames,
      amountCents: Cents('What arrived'),
      openedAt: Time('Since'),
      why: NullableText(
        'Why the operator decides about it: kind, amount, kept, paused; null: the account does',
      ),
    }),
    { description: 'The newest 100' },
  ),
});

const ActsSchema = Type.Object({
  allowed: Type.Array(
    Type.Object({
      action: OneOf(merchantActions, 'Act'),
      postings: Type.Array(
        Type.Object({
          movement: Type.String({ description: 'Movement' }),
          /** The account's own books have no operation. */
          operationId: NullableUuid('Operation; null: the account’s money without an operation'),
          lines: Type.Array(
            Type.Object({
              column: Type.String({ description: 'Column of the books' }),
              cents: Cents('Credit; below zero: debit'),
            }),
          ),
        }),
      ),
      shown: Shown,
    }),
  ),
});

const DecisionBody = Body({ action: OneOf(merchantActions, 'Act'), shown: Shown });
const DecidedSchema = Type.Object({ action: OneOf(merchantActions, 'Act') });

interface OddMoneyDeps {
  sql: Operator['sql'];
  clock: Operator['clock'];
  ids: Operator['ids'];
  log: Operator['log'];
  secrets: Secrets;
  mail: Mail;
  cells: { refresh(): Promise<unknown>; all(): readonly { sql: Operator['sql'] }[] };
}

/**
 * Odd money that the operator's rule leaves to the people of the account: shown with the postings of each act, and decided exactly as it was shown, by
 * the command and the rehearsal of the operators' console. Whether it is theirs is decided again under the locks of the act.
 */
export function oddMoneyRoutes(api: ApiScope, cellOf: CellOf<OddMoneyDeps>, attempts: Attempts): void {
  api.get(
    '/odd-money',
    {
      schema: { tags, summary: 'Money that waits for a decision', response: { 200: OddMoneySchema } },
      config: { api: looks, panel: { needs: 'read' } },
    },
    ({ member }) => oddMoneyOf(cellOf(member), member),
  );

  api.post(
    '/odd-money/:id/acts',
    {
      schema: {
        tags,
        summary: 'What the account may do with it, with the postings of each act',
        params: IdParams('Incident'),
        body: Nothing,
        response: { 200: ActsSchema },
      },
      config: { api: moves, panel: { needs: 'refunds', sensitive: true } },
    },
    async ({ member, params }) => {
      const deps = cellOf(member);
      await incidentOf(deps, member, params.id);
      // A rehearsal holds the locks of the account's operations.
      await attempts.take('rehearsal', member.accountId);
      const operator = await asOperator(deps, member);
      const allowed = await asPanelError(allowedActions(operator, params.id, merchantActions, 'merchant'));
      return {
        allowed: allowed.map(({ action, postings, shown }) => ({
          action: action as MerchantAction,
          postings: postings.map(({ movement, accountId, chainId, lines }) => ({
            movement,
            operationId: chainId === accountId ? null : chainId,
            lines: Object.entries(lines).map(([column, cents]) => ({ column, cents })),
          })),
          shown,
        })),
      };
    },
  );

  api.post(
    '/odd-money/:id/decision',
    {
      schema: {
        tags,
        summary: 'Credits it to the operation or gives it back to the payer, as it was shown',
        params: IdParams('Incident'),
        body: DecisionBody,
        response: { 200: DecidedSchema },
      },
      config: { api: moves, panel: { needs: 'refunds', sensitive: true, fresh: true } },
    },
    async (request) => {
      const { member, params, body } = request;
      const deps = cellOf(member);
      const incident = await incidentOf(deps, member, params.id);
      const decided = await decide(deps, member, params.id, body);
      const { action } = body;
      const { id, paymentId, amountCents } = incident;
      await note(deps, request, 'odd_money.decided', {
        ...{ incidentId: id, action, amountCents },
        ...(paymentId !== null && { paymentId }),
      });
      const letter = decisionLetter(member, decided, action);
      await mailPeople(deps, member.accountId, 'money', letter).catch((err: unknown) =>
        deps.log.error({ err, incident: id }, 'a mail about decided odd money was not sent'),
      );
      return { action };
    },
  );
}

/** The incident of the member's own account. @throws PanelError `not_found`, of another account as well */
async function incidentOf({ sql }: OddMoneyDeps, { accountId }: Member, id: string): Promise<IncidentCase> {
  const incident = await findIncident(sql, id);
  if (incident?.accountId !== accountId) throw new PanelError('not_found');
  return incident;
}

async function asOperator(
  { sql, cells, clock, ids, log }: OddMoneyDeps,
  { person }: Member,
): Promise<Operator> {
  await cells.refresh();
  const everyCell = cells.all().map((cell) => cell.sql);
  return { sql, everyCell, clock, ids, log, actor: `panel:${person.userId}` };
}

async function decide(
  deps: OddMoneyDeps,
  member: Member,
  id: string,
  { action, shown }: Static<typeof DecisionBody>,
): Promise<IncidentView> {
  // The balance may lack what a lost time has taken from the books.
  if (await isRestored(deps.sql)) throw new PanelError('act_refused');
  const wanted = { action, reason: 'decided in the panel', decider: 'merchant' as const };
  const agreed = { shown, mostCents: Number.MAX_SAFE_INTEGER };
  return asPanelError(resolveAsShown(await asOperator(deps, member), id, wanted, agreed));
}

/** @throws PanelError where an operator at the shell reads a sentence */
const asPanelError = <T>(act: Promise<T>): Promise<T> =>
  act.catch((error: unknown) => {
    if (error instanceof FactsChanged) throw new PanelError('facts_changed');
    if (error instanceof RehearsalBusy) throw new PanelError('books_busy');
    throw error instanceof OperatorRefused ? new PanelError('act_refused') : error;
  });

async function oddMoneyOf(deps: OddMoneyDeps, member: Member): Promise<Static<typeof OddMoneySchema>> {
  const { sql } = deps;
  const { accountId } = member;
  const [names, rule, paused, { sumCents, incidents }] = await Promise.all([
    operationsOf(deps, accountId, undefined),
    oddMoneyRuleOf(deps, accountId),
    isRestored(sql),
    findOpenOddMoney(sql, accountId, shownMost),
  ]);
  const paymentIds = incidents.map(({ paymentId }) => paymentId);
  const namesById = await findNames(deps, member, paymentIds, [...names.keys()]);
  return {
    sumCents,
    mostCents: rule.mostCents,
    waiting: incidents.map((one) => ({
      id: one.id,
      kind: one.kind,
      paymentId: one.paymentId,
      payment: namesById(one.paymentId),
      amountCents: one.amountCents,
      openedAt: isoOf(one.openedAt),
      why: paused ? 'paused' : notOfMerchant(rule, one),
    })),
  };
}

/** Without names: who paid stands in the panel. */
function decisionLetter(
  { accountName, person }: Member,
  { amountCents, paymentId, resolvedAt }: IncidentView,
  action: MerchantAction,
): Omit<Letter, 'to'> {
  const at = brasiliaTime(resolvedAt ?? 0);
  const [amount, isCredit] = [priceOf(amountCents), action === 'credit'];
  return {
    'pt-BR': {
      subject: isCredit
        ? `${amount} a identificar: creditado na operação`
        : `${amount} a identificar: devolução ao pagador`,
      text: `Conta: ${accountName}

${person.name} decidiu no painel sobre um Pix que não correspondia à cobrança.

  Valor      ${amount}
  Decisão    ${isCredit ? 'creditar na operação' : 'devolver ao pagador'}
  Quando     ${at}
  Pagamento  ${paymentId}

Se a sua equipe não decidiu isto, fale agora com o operador do serviço.
`,
    },
    en: {
      subject: isCredit
        ? `${amount} of odd money: credited to the operation`
        : `${amount} of odd money: returned to the payer`,
      text: `Account: ${accountName}

${person.name} decided in the panel about a Pix that did not fit its charge.

  Amount     ${amount}
  Decision   ${isCredit ? 'credit to the operation' : 'return to the payer'}
  When       ${at}
  Payment    ${paymentId}

If your team did not decide this, contact the operator of the service now.
`,
    },
  };
}
