import type { Letter, Mail } from '../ground/mail.ts';
import type { Queries } from '../ports/sql.ts';
import { findPeople, type MailTopic } from '../store/rows/people.sql.ts';
import { findLetterhead } from '../store/rows/profile.sql.ts';

/** Mails the people of an account under its letterhead. An account without people: the operator gets the mail and knows whom to call. */
export async function mailPeople(
  { sql, mail }: { sql: Queries; mail: Mail },
  accountId: string,
  about: MailTopic,
  letter: Omit<Letter, 'to' | 'letterhead'>,
): Promise<void> {
  const people = await findPeople(sql, accountId, about);
  if (people.length === 0) return mail.send({ to: null, ...letter });
  const letterhead = await findLetterhead(sql, accountId);
  for (const to of people) await mail.send({ to, letterhead, ...letter });
}
