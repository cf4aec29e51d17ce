import { type Command, instant, required, table, UsageFault, uuid } from './command.ts';
import { invitationLink } from './panel/mails.ts';
import { findMembers } from './panel/members.sql.ts';
import { emailOf, invite, isEmail } from './panel/members.ts';
import { isRole, roles } from './panel/roles.ts';
import { onDatabase } from './start.ts';

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
      const rows = await onDatabase(edge, 'member list', ({ sql }) => findMembers(sql, accountId));
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
          'nobody',
        ),
      };
    },
  },
];
