import { listOperators, type OperatorPerson } from '../../console/people/operators.sql.ts';
import {
  createOperator,
  grantOperator,
  type Invited,
  operatorInvitationLink,
  resetOperator,
  suspendOperator,
} from '../../console/people/operators.ts';
import { isOperatorRole, type OperatorRole, operatorRoles } from '../../operate/acts.ts';
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
import { asOperator } from './operator-commands.ts';

/** The people of the console. The first one is made here, and so are all others until two of them can agree in the console. */
export const consoleCommands: Command[] = [
  {
    name: 'operator create',
    usage: `--email E --name N --role ${operatorRoles.join('|')}`,
    about: 'a person of the console (/operator): prints a link for that person, good for 24 hours',
    options: { email: { type: 'string' }, name: { type: 'string' }, role: { type: 'string' } },
    run: async (edge, { values }) => {
      const wanted = {
        email: required(values, 'email'),
        name: required(values, 'name'),
        role: roleOf(values),
      };
      return invitationAnswer(
        edge,
        await asOperator(edge, 'operator create', (operator) => createOperator(operator, wanted)),
      );
    },
  },
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
  {
    name: 'operator suspend',
    usage: '--email E',
    about: 'ends every session of an operator, who does not come in again until a role is granted',
    options: { email: { type: 'string' } },
    run: async (edge, { values }) => {
      const email = required(values, 'email');
      return operatorAnswer(
        await asOperator(edge, 'operator suspend', (operator) => suspendOperator(operator, email)),
      );
    },
  },
  {
    name: 'operator reset-factor',
    usage: '--email E',
    about:
      'takes the password and the authenticator app of an operator who lost them, ends their sessions and prints a new link; prove first who asks',
    options: { email: { type: 'string' } },
    run: async (edge, { values }) => {
      const email = required(values, 'email');
      return invitationAnswer(
        edge,
        await asOperator(edge, 'operator reset-factor', (operator) => resetOperator(operator, email)),
      );
    },
  },
  {
    name: 'operator grant',
    usage: `--email E --role ${operatorRoles.join('|')}`,
    about: 'gives an operator another role, from the next call on; ends a suspension',
    options: { email: { type: 'string' }, role: { type: 'string' } },
    run: async (edge, { values }) => {
      const email = required(values, 'email');
      const role = roleOf(values);
      return operatorAnswer(
        await asOperator(edge, 'operator grant', (operator) => grantOperator(operator, email, role)),
      );
    },
  },
];

function roleOf(values: CommandInput['values']): OperatorRole {
  const role = required(values, 'role');
  if (!isOperatorRole(role)) throw new UsageFault(`--role takes ${operatorRoles.join(', ')}`);
  return role;
}

function invitationAnswer({ config }: Edge, { id, email, token, expiresAt }: Invited): Answer {
  const link = operatorInvitationLink(config.publicUrl, token);
  const until = instant(expiresAt);
  return { json: { id, email, link, expiresAt: until }, text: `${link}\ngood until ${until}` };
}

const shownOperator = ({ createdAt, enrolledAt, suspendedAt, ...person }: OperatorPerson) => ({
  ...person,
  createdAt: instant(createdAt),
  enrolledAt: instant(enrolledAt),
  suspendedAt: instant(suspendedAt),
});

function operatorAnswer(person: OperatorPerson): Answer {
  const shown = shownOperator(person);
  return {
    json: shown,
    text: `${shown.email} ${shown.suspendedAt === null ? `has the role ${shown.role}` : 'is suspended'}`,
  };
}
