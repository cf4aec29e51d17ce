import {
  changeAsShown,
  changeOf,
  type OperatorChange,
  personNow,
  shownChange,
} from '../../console/people/changes.ts';
import { findOperator, listOperators, type OperatorPerson } from '../../console/people/operators.sql.ts';
import { type Invited, operatorInvitationLink } from '../../console/people/operators.ts';
import { isOperatorRole, type OperatorRole, operatorRoles } from '../../operate/acts.ts';
import { emailOf, isEmail } from '../../panel/people/members.ts';
import { type Edge, onDatabase } from '../start.ts';
import {
  type Answer,
  type Command,
  type CommandInput,
  instant,
  required,
  table,
  UsageFault,
} from './command.ts';
import { operatorOf } from './operator-commands.ts';
import { agreedAtShell, askable, breakGlassOption } from './second-person.ts';

const alone = { ...breakGlassOption, reason: { type: 'string' } } as const;
const aloneUsage = '[--break-glass | --request] [--reason R]';

/** The people of the console. The first one is made here, and so are all others until two of them can agree in the console. */
export const consoleCommands: Command[] = [
  askable({
    name: 'operator create',
    usage: `--email E --name N --role ${operatorRoles.join('|')} ${aloneUsage}`,
    about: 'a person of the console (/operator): prints a link for that person, good for 24 hours',
    options: { email: { type: 'string' }, name: { type: 'string' }, role: { type: 'string' }, ...alone },
    run: async (edge, { values }) => {
      const [email, name, role] = [required(values, 'email'), required(values, 'name'), roleOf(values)];
      if (!isEmail(emailOf(email))) throw new UsageFault('--email takes an address');
      const wanted = changeOf({ change: 'create', email, name, role });
      return invitationAnswer(edge, await changeAtShell(edge, 'operator create', values, wanted));
    },
  }),
  {
    name: 'operator list',
    about: 'the people of the console',
    run: async (edge) => {
      const people = await onDatabase(edge, 'operator list', ({ sql }) => listOperators(sql));
      const operators = people.map(shownOperator);
      return {
        json: { operators },
        text: table(
          operators.map((one) => [
            one.email,
            one.role,
            one.suspendedAt !== null ? 'suspended' : one.enrolledAt === null ? 'invited' : 'active',
            one.name,
          ]),
          'no operators',
          ['email', 'role', 'state', 'name'],
        ),
      };
    },
  },
  askable({
    name: 'operator suspend',
    usage: `--email E ${aloneUsage}`,
    about: 'ends every session of an operator, who does not come in again until a role is granted',
    options: { email: { type: 'string' }, ...alone },
    run: async (edge, { values }) => {
      const wanted = changeOf({ change: 'suspend', email: required(values, 'email') });
      await changeAtShell(edge, 'operator suspend', values, wanted);
      return operatorAnswer(edge, wanted.email);
    },
  }),
  askable({
    name: 'operator reset-factor',
    usage: `--email E ${aloneUsage}`,
    about:
      'takes the password and the authenticator app of an operator who lost them, ends their sessions and prints a new link; prove first who asks',
    options: { email: { type: 'string' }, ...alone },
    run: async (edge, { values }) => {
      const wanted = changeOf({ change: 'reset_factor', email: required(values, 'email') });
      return invitationAnswer(edge, await changeAtShell(edge, 'operator reset-factor', values, wanted));
    },
  }),
  {
    name: 'operator bind-oidc',
    usage: `--email E --subject S ${aloneUsage}`,
    about:
      'binds an operator to an account at OPERATOR_OIDC_ISSUER by its subject (`sub`), once; the operator can do so too, in the console',
    // The console asks for no such change: an operator binds the own account there.
    options: { email: { type: 'string' }, subject: { type: 'string' }, ...alone },
    run: async (edge, { values }) => {
      const { operatorOidc } = edge.config;
      if (operatorOidc === null) throw new UsageFault('OPERATOR_OIDC_ISSUER is not set');
      const subject = required(values, 'subject');
      if (!/^[\x21-\x7e]{1,255}$/.test(subject))
        throw new UsageFault('--subject takes what the tokens have as sub');
      const fields = { email: required(values, 'email'), issuer: operatorOidc.issuer, subject };
      const wanted = changeOf({ change: 'bind_oidc', ...fields });
      await changeAtShell(edge, 'operator bind-oidc', values, wanted);
      return operatorAnswer(edge, wanted.email);
    },
  },
  askable({
    name: 'operator grant',
    usage: `--email E --role ${operatorRoles.join('|')} ${aloneUsage}`,
    about: 'gives an operator another role, from the next call on; ends a suspension',
    options: { email: { type: 'string' }, role: { type: 'string' }, ...alone },
    run: async (edge, { values }) => {
      const wanted = changeOf({ change: 'grant', email: required(values, 'email'), role: roleOf(values) });
      await changeAtShell(edge, 'operator grant', values, wanted);
      return operatorAnswer(edge, wanted.email);
    },
  }),
];

/** Where two administrators could agree to it in the console, one at the shell asks for it, or does it with `--break-glass`. */
const changeAtShell = (
  edge: Edge,
  command: string,
  values: CommandInput['values'],
  wanted: OperatorChange,
): Promise<Invited | null> =>
  onDatabase(edge, command, async (context) => {
    const operator = operatorOf(context);
    const show = async () => ({
      postings: [],
      movedCents: 0,
      shown: await shownChange(operator, wanted),
    });
    const body = { ...wanted, ...(await personNow(context.sql, wanted)) };
    const act = { act: 'changeOperators' as const, subject: wanted.email, body, show };
    const agreed = await agreedAtShell({ edge, context }, values, operator, act);
    const shown = agreed?.shown ?? (await shownChange(operator, wanted));
    return changeAsShown(operator, wanted, { shown, by: [] });
  });

function roleOf(values: CommandInput['values']): OperatorRole {
  const role = required(values, 'role');
  if (!isOperatorRole(role)) throw new UsageFault(`--role takes ${operatorRoles.join(', ')}`);
  return role;
}

function invitationAnswer({ config }: Edge, invited: Invited | null): Answer {
  if (invited === null) throw new Error('no invitation was made');
  const { id, email, token, expiresAt } = invited;
  const link = operatorInvitationLink(config.operatorUrl, token);
  const until = instant(expiresAt);
  return { json: { id, email, link, expiresAt: until }, text: `${link}\ngood until ${until}` };
}

const shownOperator = ({ createdAt, enrolledAt, suspendedAt, ...person }: OperatorPerson) => ({
  ...person,
  createdAt: instant(createdAt),
  enrolledAt: instant(enrolledAt),
  suspendedAt: instant(suspendedAt),
});

/** The operator as the command has left them. */
async function operatorAnswer(edge: Edge, email: string): Promise<Answer> {
  const person = await onDatabase(edge, 'operator list', ({ sql }) => findOperator(sql, email));
  if (!person) throw new Error('the operator is gone');
  const shown = shownOperator(person);
  return {
    json: shown,
    text: `${shown.email} ${shown.suspendedAt === null ? `has the role ${shown.role}` : 'is suspended'}`,
  };
}
