import { userInfo } from 'node:os';
import { createMail } from '../../ground/mail.ts';
import { invitationLink, panelMails } from '../../panel/people/mails.ts';
import {
  deleteNewEmailOf,
  endEverySession,
  endSession,
  endSessionsOfEverybody,
  findMembers,
  findSessions,
  findUser,
  removeEveryFactor,
  type User,
} from '../../panel/people/members.sql.ts';
import { emailOf, invite, isEmail } from '../../panel/people/members.ts';
import { isRole, roles } from '../../panel/people/roles.ts';
import { recordSecurityEvent, type SecurityEvent } from '../../panel/people/security-events.ts';
import { type Context, type Edge, onDatabase } from '../start.ts';
import { type Command, type CommandInput, instant, required, table, UsageFault, uuid } from './command.ts';
import { onAll } from './in-cells.ts';

/** The people of an account: the first one is invited here, the others by them. */
export const memberCommands: Command[] = [
  {
    name: 'member invite',
    usage: `--account OWNER_ID --email E [--role ${roles.join('|')}]`,
    about: 'an invitation to the panel: a link for one person, good for seven days',
    options: { account: { type: 'string' }, email: { type: 'string' }, role: { type: 'string' } },
    run: async (edge, { values }) => {
      const accountId = uuid(required(values, 'account'), '--account');
      const email = emailOf(required(values, 'email'));
      const role = values.role ?? 'owner';
      if (!isEmail(email)) throw new UsageFault('--email takes an address');
      if (typeof role !== 'string' || !isRole(role)) throw new UsageFault(`--role takes ${roles.join(', ')}`);
      const made = await onDatabase(edge, 'member invite', async (context) => {
        const rows = await context.sql.run(
          { name: 'member.account', text: 'SELECT FROM account WHERE id = $1' },
          [accountId],
        );
        if (rows.length === 0) throw new Error('there is no such account');
        return invite(context, { accountId, email, role });
      });
      const link = invitationLink(edge.config.publicUrl, made.token);
      const expiresAt = instant(made.expiresAt);
      return {
        json: { id: made.id, email, role, link, expiresAt },
        text: `${link}\ngood until ${expiresAt}`,
      };
    },
  },
  {
    name: 'member list',
    usage: '--account OWNER_ID',
    about: 'the people of an account',
    options: { account: { type: 'string' } },
    run: async (edge, { values }) => {
      const accountId = uuid(required(values, 'account'), '--account');
      const rows = await onAll(edge, 'member list', accountId, ({ sql }) => findMembers(sql, accountId));
      const members = rows.map(({ userId, email, name, role, createdAt }) => ({
        userId,
        email,
        name,
        role,
        createdAt: instant(createdAt),
      }));
      return {
        json: { members },
        text: table(
          members.map((member) => [member.userId, member.role, member.email, member.name]),
          'no people',
          ['person', 'role', 'email', 'name'],
        ),
      };
    },
  },
  {
    name: 'member sessions',
    usage: '--email E',
    about: 'where a person is signed in to the panel',
    options: { email: { type: 'string' } },
    run: async (edge, { values }) => {
      const rows = await onPerson(edge, 'member sessions', values, ({ sql, clock }, { id }) =>
        findSessions(sql, id, clock.now()),
      );
      const sessions = rows.map((row) => ({
        ...row,
        createdAt: instant(row.createdAt),
        seenAt: instant(row.seenAt),
      }));
      return {
        json: { sessions },
        text: table(
          sessions.map((one) => [one.id, one.createdAt, one.ipAddress ?? '', one.userAgent ?? '']),
          'no sessions',
          ['session', 'since', 'address', 'browser'],
        ),
      };
    },
  },
  {
    name: 'member end',
    usage: '--email E [--session ID] | --all',
    about: 'ends a session of a person, every session of a person, or the sessions of everybody',
    options: { email: { type: 'string' }, session: { type: 'string' }, all: { type: 'boolean' } },
    run: async (edge, { values }) => {
      if (values.all === true) {
        if (values.email !== undefined) throw new UsageFault('--all takes no --email');
        const ended = await onDatabase(edge, 'member end', async (context) => {
          const sessions = await context.sql.tx(endSessionsOfEverybody);
          await recordOfOperator(context, {
            kind: 'session.ended',
            detail: { which: 'everybody', sessions },
          });
          return sessions;
        });
        return { json: { ended }, text: `${ended} ended` };
      }
      const only = values.session === undefined ? null : uuid(required(values, 'session'), '--session');
      const ended = await onPerson(edge, 'member end', values, async (context, { id }) => {
        const { sql, clock } = context;
        const open = await findSessions(sql, id, clock.now());
        const ending = open.filter((one) => only === null || one.id === only);
        await sql.tx(async (tx) => {
          await (only === null ? endEverySession(tx, id) : endSession(tx, id, only));
          await deleteNewEmailOf(tx, id);
        });
        const detail = { which: only ?? 'all', sessions: ending.length };
        await recordOfOperator(context, { kind: 'session.ended', userId: id, detail });
        return ending.length;
      });
      return { json: { ended }, text: `${ended} ended` };
    },
  },
  {
    name: 'member reset-factor',
    usage: '--email E --reason R',
    about:
      'removes the authenticator app and the passkeys of a person who lost them, and ends their sessions; prove first who asks',
    options: { email: { type: 'string' }, reason: { type: 'string' } },
    run: async (edge, { values }) => {
      const reason = required(values, 'reason');
      const email = await onPerson(edge, 'member reset-factor', values, async (context, person) => {
        await context.sql.tx(async (tx) => {
          await removeEveryFactor(tx, person.id);
          await endEverySession(tx, person.id);
          await deleteNewEmailOf(tx, person.id);
        });
        const detail = { factor: 'all', reason };
        await recordOfOperator(context, { kind: 'factor.removed', userId: person.id, detail });
        const mail = createMail(context.config, context);
        await panelMails({ config: context.config, mail }).factorChanged(person.email, {
          factor: 'all',
          added: false,
          ip: null,
        });
        return person.email;
      });
      return { json: { email }, text: `${email} has no second factor now` };
    },
  },
];

/** @throws Error no person has that e-mail */
const onPerson = <T>(
  edge: Edge,
  command: string,
  values: CommandInput['values'],
  work: (context: Context, person: User) => Promise<T>,
): Promise<T> => {
  const email = emailOf(required(values, 'email'));
  return onDatabase(edge, command, async (context) => {
    const person = await findUser(context.sql, email);
    if (!person) throw new Error(`no person has the address ${email}`);
    return work(context, person);
  });
};

const recordOfOperator = (context: Context, event: SecurityEvent): Promise<void> =>
  recordSecurityEvent(context, {
    ...event,
    actor: 'operator',
    detail: { ...event.detail, by: userInfo().username },
  });
