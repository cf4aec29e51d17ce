import type { Queries, Statement } from '../../ports/sql.ts';

const select: Statement = {
  name: 'account_people',
  text: `SELECT u.email FROM panel_member m JOIN panel_user u ON u.id = m.user_id
    WHERE m.account_id = $1 AND m.role = ANY ($2::text[]) AND u.email_verified ORDER BY u.email`,
};

const person: Statement = {
  name: 'account_person',
  text: `SELECT FROM panel_member m JOIN panel_user u ON u.id = m.user_id
    WHERE m.account_id = $1 AND lower(u.email) = lower($2) AND u.email_verified`,
};

/** Whether a mail address is that of a person of the account. */
export const isPersonOf = async (sql: Queries, accountId: string, email: string): Promise<boolean> =>
  (await sql.run(person, [accountId, email])).length > 0;

/** Which roles get which mails: people who manage integrations those about keys and endpoints, people who move money those about money. */
const told = {
  integrations: ['owner', 'admin', 'developer'],
  money: ['owner', 'admin', 'finance'],
} as const;

export type MailTopic = keyof typeof told;

/** The addresses of the people to notify; empty for an account without people. */
export const findPeople = async (sql: Queries, accountId: string, about: MailTopic): Promise<string[]> =>
  (await sql.run<{ email: string }>(select, [accountId, told[about]])).map(({ email }) => email);
