import type { Queries, Statement } from '../ports/sql.ts';

const note: Statement = {
  name: 'lost_time_note',
  text: `INSERT INTO lost_time (noted_at, since, noted_by) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
};

export interface LostTime {
  /** ms since 1970. */
  since: number;
  notedAt: number;
  /** A person, or the process that noticed it. */
  notedBy: string;
}

/** The loss is noted to its end: what a process remembers of a time within it is no new loss. */
export const noteLostTime = (tx: Queries, { since, notedAt, notedBy }: LostTime): Promise<unknown> =>
  tx.run(note, [new Date(notedAt).toISOString(), new Date(since).toISOString(), notedBy]);
