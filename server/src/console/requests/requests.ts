import { ruleChangeOf, setOddMoneyRule } from '../../operate/accounts/odd-money.ts';
import { releaseAsShown } from '../../operate/accounts/shown-holds.ts';
import { type ActName, acts, mayAct } from '../../operate/acts.ts';
import { resolveAsShown } from '../../operate/incidents/allowed.ts';
import { isAction } from '../../operate/incidents/endings.ts';
import { resumeWithdrawals } from '../../operate/pause.ts';
import { bookReturnAsShown, type ReturnDeps, type ReturnOfPayout } from '../../operate/returned-payout.ts';
import { PanelError } from '../../panel/errors.ts';
import type { Sql } from '../../ports/sql.ts';
import type { Operator } from '../../store/operator.ts';
import type { SignedIn } from '../auth/sessions.ts';
import { changeAsShown, changeOf } from '../people/changes.ts';
import { type Invited, noteOperator } from '../people/operators.ts';
import { asPanelError, type PlaceDeps, placeOf } from '../place.ts';
import {
  claimRequest,
  endRequest,
  findRequest,
  insertRequest,
  type NewRequest,
  type OperatorRequest,
  refuseRequest,
  requestLivesMs,
  seeRequest,
  takeUpRequest,
  type Wanted,
} from './requests.sql.ts';

/** Acts that a second operator has to agree to. A request names the postings as its first person saw them, and only those are ever written. */

export type RequestDeps = PlaceDeps & ReturnDeps;

type Person = Pick<SignedIn, 'operatorId' | 'email' | 'role'>;

/**
 * How an act that two people agreed to is carried out.
 * @param agreed the second person's id
 * @returns an invitation that it made, for the one who is invited. @throws OperatorRefused the facts have changed since
 */
type Deed = (
  operator: Operator,
  request: OperatorRequest,
  agreed: string,
  deps: ReturnDeps,
) => Promise<Invited | null>;

const deeds: Readonly<Partial<Record<ActName, Deed>>> = {
  resolveIncident: async (operator, { subject, body: { action = '' }, reason, shown }) => {
    if (!isAction(action)) throw new Error(`a request asks for ${action}`);
    const agreed = { shown, mostCents: Number.MAX_SAFE_INTEGER };
    await resolveAsShown(operator, subject, { action, reason }, agreed);
    return null;
  },
  bookReturn: async (operator, { subject, body, reason, shown }, _agreed, deps) => {
    const wanted = { ...returnAskedFor(subject, body), reason };
    await bookReturnAsShown(deps, operator, wanted, { shown, mostCents: Number.MAX_SAFE_INTEGER });
    return null;
  },
  releaseHold: async (operator, { subject, reason, shown }) => {
    await releaseAsShown(operator, subject, reason, { shown, mostCents: Number.MAX_SAFE_INTEGER });
    return null;
  },
  resumeWithdrawals: async (operator, { body: { pausedAt }, reason }) => {
    await resumeWithdrawals(operator, { pausedAt: Number(pausedAt), reason });
    return null;
  },
  changeOddMoneyRule: async (operator, { subject, body, reason, shown }) => {
    const agreed = { shown, mostCents: Number.MAX_SAFE_INTEGER };
    await setOddMoneyRule(operator, subject, ruleChangeOf(body).after, { reason, agreed });
    return null;
  },
  changeOperators: (operator, { body, shown, requestedBy }, agreed) =>
    changeAsShown(operator, changeOf(body), {
      shown,
      by: requestedBy === null ? [agreed] : [requestedBy, agreed],
    }),
};

/** A return in the body of a request; and back. */
export const returnBodyOf = ({ returnId, amountCents, at }: ReturnOfPayout) => ({
  returnId,
  ...(amountCents === null ? {} : { amountCents: String(amountCents) }),
  ...(at === null ? {} : { at: String(at) }),
});

const returnAskedFor = (
  paymentId: string,
  { returnId = '', amountCents, at }: OperatorRequest['body'],
): ReturnOfPayout => ({
  paymentId,
  returnId,
  amountCents: amountCents === undefined ? null : Number(amountCents),
  at: at === undefined ? null : Number(at),
});

/** Acts that become a request in the console where one person may not do them alone. */
export const requestable = Object.keys(deeds) as ActName[];

type Asking = Pick<RequestDeps, 'sql' | 'clock' | 'ids'>;

/** Records what a person asks for; only a second one lets it be carried out. @returns its id */
export const ask = async (deps: Asking, person: Person, wanted: Wanted): Promise<string> =>
  (await record(deps, { actor: person.email, requestedBy: person.operatorId, user: null }, wanted)).id;

/**
 * The same at the shell, whose user is no person of the console: an operator takes it up, and another one agrees.
 * @param deps with the system's user
 */
export const askAtShell = (
  { actor, ...deps }: Asking & { actor: string },
  wanted: Wanted,
): Promise<{ id: string; expiresAt: number }> =>
  record(deps, { actor, requestedBy: null, user: actor }, wanted);

async function record(
  { sql, clock, ids }: Asking,
  { actor, ...by }: { actor: string } & Pick<NewRequest, 'requestedBy' | 'user'>,
  wanted: Wanted,
): Promise<{ id: string; expiresAt: number }> {
  const now = clock.now();
  const id = ids.uuid();
  const expiresAt = now + requestLivesMs;
  await sql.tx(async (tx) => {
    await insertRequest(tx, { ...wanted, ...by, id, requestedAt: now, expiresAt });
    await noteOperator(
      tx,
      { clock, ids },
      {
        actor,
        action: 'request.ask',
        subject: id,
        reason: wanted.reason,
        detail: { act: wanted.act, subject: wanted.subject, ...wanted.body, shown: wanted.shown },
      },
    );
  });
  return { id, expiresAt };
}

/**
 * An operator makes what was asked for at the shell their own request.
 * @param shown the hash of what this person saw
 * @throws PanelError `not_found`, `operator_role_denied`, `request_closed`
 */
export async function takeUp(deps: RequestDeps, person: Person, id: string, shown: string): Promise<void> {
  const request = await found(deps.sql, person, id);
  await step(deps, person, request, { shown, change: takeUpRequest, action: 'request.take_up' });
}

/**
 * A second person agrees to a request, which is carried out at once. The claim commits first: a process that ends in between leaves a spent request
 * and the act undone.
 * @param shown the hash of what this person saw
 * @returns an invitation that the act made
 * @throws PanelError `not_found`, `operator_role_denied`, `own_request`, `request_closed`, `facts_changed`
 */
export async function agree(
  deps: RequestDeps,
  person: Person,
  id: string,
  shown: string,
): Promise<Invited | null> {
  const request = await found(deps.sql, person, id);
  const deed = deeds[request.act];
  if (!deed) throw new Error(`no deed for ${request.act}`);
  if (request.requestedBy === person.operatorId) throw new PanelError('own_request');
  const { sql } = deps;
  await step(deps, person, request, { shown, change: claimRequest, action: 'request.agree' });
  // Both names stand in the entry of the act itself.
  const operator = await placeOf(deps, request, `${request.requestedByName} + ${person.email}`);
  let invited: Invited | null;
  try {
    invited = await asPanelError(deed(operator, request, person.operatorId, deps));
  } catch (error) {
    if (error instanceof PanelError) await sql.tx((tx) => endRequest(tx, id, 'stale'));
    throw error;
  }
  await sql.tx((tx) => endRequest(tx, id, 'done'));
  return invited;
}

/**
 * A person says that they have seen what was done at the shell without a second one.
 * @throws PanelError `not_found`, `operator_role_denied`, `request_closed`
 */
export async function see(deps: RequestDeps, person: Person, id: string, shown: string): Promise<void> {
  const request = await found(deps.sql, person, id);
  await step(deps, person, request, { shown, change: seeRequest, action: 'request.see' });
}

interface Step {
  /** The hash of what the person saw. */
  shown: string;
  change: typeof claimRequest;
  action: string;
}

/** Changes the state of a request, with an entry in the audit log. @throws PanelError `request_closed` */
const step = (
  { sql, clock, ids }: Asking,
  { email, operatorId }: Person,
  { id, act, subject, reason, requestedByName }: OperatorRequest,
  { shown, change, action }: Step,
): Promise<void> =>
  sql.tx(async (tx) => {
    const { roles } = acts[act];
    if (!(await change(tx, { id, shown, by: operatorId, roles, now: clock.now() })))
      throw new PanelError('request_closed');
    const detail = { act, subject, shown, requestedBy: requestedByName };
    await noteOperator(tx, { clock, ids }, { actor: email, action, subject: id, reason, detail });
  });

/** Takes a request back, or refuses it as another person who could agree to it. @throws PanelError as `agree` */
export async function refuse(deps: RequestDeps, person: Person, id: string): Promise<void> {
  const request = await found(deps.sql, person, id);
  await deps.sql.tx(async (tx) => {
    const state = await refuseRequest(tx, { id, by: person.operatorId, now: deps.clock.now() });
    if (!state) throw new PanelError('request_closed');
    await noteOperator(tx, deps, {
      actor: person.email,
      action: state === 'withdrawn' ? 'request.withdraw' : 'request.refuse',
      subject: id,
      detail: { act: request.act, subject: request.subject, requestedBy: request.requestedByName },
    });
  });
}

async function found(sql: Sql, { role }: Person, id: string): Promise<OperatorRequest> {
  const request = await findRequest(sql, id);
  if (!request) throw new PanelError('not_found');
  if (!mayAct(role, request.act)) throw new PanelError('operator_role_denied');
  return request;
}
