import type { Letter } from '../../ground/mail.ts';
import { acts, isOperatorRole, type OperatorRole } from '../../operate/acts.ts';
import { emailOf } from '../../panel/people/members.ts';
import type { Queries } from '../../ports/sql.ts';
import { FactsChanged, hashOfShown } from '../../store/as-shown.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { rehearseAct } from '../../store/rehearsal.ts';
import { areAble, findOperator, lockOperators } from './operators.sql.ts';
import {
  bindOperator,
  createOperator,
  grantOperator,
  type Invited,
  type OperatorAct,
  resetOperator,
  suspendOperator,
} from './operators.ts';

/** Changes of the console's people. In the console one administrator asks for a change and another one agrees to it. */

/** Those that are asked for in the console. */
export const askedChanges = ['create', 'suspend', 'reset_factor', 'grant'] as const;
export const changeNames = [...askedChanges, 'bind_oidc'] as const;
export type ChangeName = (typeof changeNames)[number];

export type OperatorChange =
  | { change: 'create'; email: string; name: string; role: OperatorRole }
  | { change: 'grant'; email: string; role: OperatorRole }
  | { change: 'suspend' | 'reset_factor'; email: string }
  | { change: 'bind_oidc'; email: string; issuer: string; subject: string };

/** @throws OperatorRefused fields are missing, or are of another change */
export function changeOf(fields: Readonly<Record<string, string | undefined>>): OperatorChange {
  const { change, email = '', name, role } = fields;
  if (change === 'suspend' || change === 'reset_factor') return { change, email: emailOf(email) };
  if (change === 'bind_oidc' && fields.issuer !== undefined && fields.subject !== undefined)
    return { change, email: emailOf(email), issuer: fields.issuer, subject: fields.subject };
  if (role === undefined || !isOperatorRole(role))
    throw new OperatorRefused('a change of an operator names a role');
  if (change === 'grant') return { change, email: emailOf(email), role };
  if (change !== 'create' || name === undefined) throw new OperatorRefused('no such change of an operator');
  return { change, email: emailOf(email), name: name.normalize('NFC').trim(), role };
}

/** @returns the invitation that it makes; null: it makes none. @throws OperatorRefused it cannot be done */
async function carryOut(operator: OperatorAct, wanted: OperatorChange): Promise<Invited | null> {
  if (wanted.change === 'create') return createOperator(operator, wanted);
  if (wanted.change === 'grant') {
    await grantOperator(operator, wanted.email, wanted.role);
    return null;
  }
  if (wanted.change === 'bind_oidc') {
    const { issuer, subject } = wanted;
    await bindOperator(operator, wanted.email, { issuer, subject });
    return null;
  }
  if (wanted.change === 'reset_factor') return resetOperator(operator, wanted.email);
  await suspendOperator(operator, wanted.email);
  return null;
}

export const standings = ['active', 'invited', 'suspended'] as const;

/** The person whom a change concerns as they are now, for the second administrator; empty: there is no such person. */
export async function personNow(
  sql: Queries,
  { email }: OperatorChange,
): Promise<{ roleNow?: OperatorRole; stateNow?: (typeof standings)[number] }> {
  const person = await findOperator(sql, email);
  if (!person) return {};
  const stateNow =
    person.suspendedAt !== null ? 'suspended' : person.enrolledAt === null ? 'invited' : 'active';
  return { roleNow: person.role, stateNow };
}

/** The change with the person as they are now: another role, a suspension or another enrolment since makes it another change. */
async function hashOf(sql: Queries, wanted: OperatorChange): Promise<string> {
  const person = await findOperator(sql, wanted.email);
  const facts = person
    ? [person.id, person.role, String(person.suspendedAt), String(person.enrolledAt)]
    : ['no such person'];
  const fields = Object.entries(wanted).sort().flat();
  return hashOfShown(['operator.change', ...fields, ...facts], []);
}

/** @returns a hash of what would be done. @throws OperatorRefused it cannot be done now */
export async function shownChange(operator: Operator, wanted: OperatorChange): Promise<string> {
  await rehearseAct(operator, (one) => carryOut(one, wanted));
  return hashOf(operator.sql, wanted);
}

/**
 * Carries out a change as it was shown. What it rests on is read under the locks of the change itself: the person, and that those who decided it still may.
 * @param by ids of the operators who decided it; empty: at the shell
 * @throws FactsChanged the person was changed since, or one of those who decided it was; OperatorRefused it cannot be done
 */
export function changeAsShown(
  operator: Operator,
  wanted: OperatorChange,
  { shown, by }: { shown: string; by: readonly string[] },
): Promise<Invited | null> {
  const before = async (tx: Queries): Promise<void> => {
    await lockOperators(tx);
    if ((await hashOf(tx, wanted)) !== shown)
      throw new FactsChanged('the operator was changed since it was shown: look again');
    if (by.length > 0 && !(await areAble(tx, by, acts.changeOperators.roles)))
      throw new FactsChanged('one who decided it may not do this any more');
  };
  return carryOut({ ...operator, before }, wanted);
}

/** To the person who is invited: no other person sees the link then. */
export const letterOfInvitation = ({ email }: Invited, link: string): Letter => ({
  to: email,
  'pt-BR': {
    subject: 'Seu acesso ao console do operador',
    text: `Você foi convidado ao console do operador. O link vale por 24 horas e pede um aplicativo autenticador:

Aceitar o convite: ${link}

Quem abre este link entra com o seu nome: não o encaminhe.
`,
  },
  en: {
    subject: 'Your access to the operator console',
    text: `You are invited to the operator console. The link is good for 24 hours and needs an authenticator app:

Accept the invitation: ${link}

The one who opens this link comes in under your name: do not forward it.
`,
  },
});
