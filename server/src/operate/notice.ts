import { isPrintable, trimmed } from '../ground/printable.ts';
import { refreshingCache } from '../ground/refreshing-cache.ts';
import type { Clock } from '../ports/clock.ts';
import type { Queries, Sql, Statement } from '../ports/sql.ts';
import { timestamp } from '../store/database/pool.ts';
import { type Operator, OperatorRefused } from '../store/operator.ts';
import { installationId, writeAudit } from '../store/rows/audit.sql.ts';

/** The notice: what every merchant's panel says for a time, as about a maintenance. It is text, and ends by itself. */
export interface Notice {
  pt: string;
  en: string;
  /** ms since 1970, as all times here. */
  fromAt: number;
  untilAt: number;
  setBy: string;
  setAt: number;
}

/** In characters, as the table says too. */
export const noticeLength = { minimum: 5, maximum: 280 };

/** The farthest end: a notice that says always the same is read by no one. */
const longestMs = 31 * 86_400_000;

const select: Statement = {
  name: 'notice_read',
  text: `SELECT pt, en, from_at AS "fromAt", until_at AS "untilAt", set_by AS "setBy", set_at AS "setAt" FROM notice`,
};

const write: Statement = {
  name: 'notice_write',
  text: `INSERT INTO notice (id, pt, en, from_at, until_at, set_by, set_at) VALUES (1, $1, $2, $3, $4, $5, $6)
    ON CONFLICT (id) DO UPDATE SET pt = $1, en = $2, from_at = $3, until_at = $4, set_by = $5, set_at = $6`,
};

const remove: Statement = {
  name: 'notice_remove',
  text: `DELETE FROM notice RETURNING pt, en, from_at AS "fromAt", until_at AS "untilAt", set_by AS "setBy", set_at AS "setAt"`,
};

/** The one that was set last, until its end. */
export const findNotice = async (sql: Queries, now: number): Promise<Notice | null> => {
  const [notice] = await sql.run<Notice>(select);
  return notice && notice.untilAt > now ? notice : null;
};

export interface NoticeWanted {
  pt: string;
  en: string;
  /** Null: from now on. */
  fromAt: number | null;
  untilAt: number;
}

/** In the place of the one before. @throws OperatorRefused a text or a time that is none */
export async function setNotice(operator: Operator, wanted: NoticeWanted): Promise<Notice> {
  const setAt = operator.clock.now();
  const notice: Notice = {
    pt: textOf(wanted.pt),
    en: textOf(wanted.en),
    fromAt: wanted.fromAt ?? setAt,
    untilAt: wanted.untilAt,
    setBy: operator.actor,
    setAt,
  };
  const { pt, en, fromAt, untilAt, setBy } = notice;
  if (untilAt <= fromAt || untilAt <= setAt)
    throw new OperatorRefused('a notice ends after it begins, and after now');
  if (untilAt > setAt + longestMs) throw new OperatorRefused('a notice ends within 31 days');
  await operator.sql.tx(async (tx) => {
    await tx.run(write, [pt, en, timestamp(fromAt), timestamp(untilAt), setBy, timestamp(setAt)]);
    await noteNotice(tx, operator, 'notice.set', notice);
  });
  return notice;
}

/** Before its time. @throws OperatorRefused without a notice */
export const endNotice = (operator: Operator): Promise<void> =>
  operator.sql.tx(async (tx) => {
    const [ended] = await tx.run<Notice>(remove);
    if (!ended || ended.untilAt <= operator.clock.now()) throw new OperatorRefused('there is no notice');
    await noteNotice(tx, operator, 'notice.end', ended);
  });

const noteNotice = (
  tx: Queries,
  { ids, clock, actor }: Operator,
  action: string,
  { pt, en, fromAt, untilAt }: Notice,
): Promise<unknown> =>
  writeAudit(tx, {
    accountId: installationId,
    id: ids.uuid(),
    at: clock.now(),
    actor,
    action,
    subject: 'installation',
    reason: null,
    detail: { pt, en, from: timestamp(fromAt), until: timestamp(untilAt) },
  });

function textOf(text: string): string {
  const clean = trimmed(text.normalize('NFC'));
  const { length } = [...clean];
  if (length < noticeLength.minimum || length > noticeLength.maximum || !isPrintable(clean))
    throw new OperatorRefused('the text of a notice has 5 to 280 characters, in one line');
  return clean;
}

/** The notice for those who ask often. */
export interface RecentNotice {
  /** The one that holds now; null: none does. */
  current(): Promise<Notice | null>;
  /** This process has just changed it; the others see it within ten seconds. */
  forget(): void;
}

const recentMs = 10_000;
const one = 'notice';

/** That there is none is kept as well, so no request asks the database for a notice of its own. */
export function recentNotice({ sql, clock }: { sql: Sql; clock: Clock }): RecentNotice {
  const cache = refreshingCache<Notice | null>({
    clock,
    maxAgeMs: recentMs,
    maxEntries: 1,
    read: () => findNotice(sql, clock.now()),
  });
  return {
    current: async () => {
      const notice = (await cache.get(one)) ?? null;
      const now = clock.now();
      return notice && notice.fromAt <= now && now < notice.untilAt ? notice : null;
    },
    forget: () => cache.forget(one),
  };
}
