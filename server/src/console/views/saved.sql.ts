import type { Queries, Statement } from '../../ports/sql.ts';

/** Pages with filters in their address. */
export const filteredPages = ['audit', 'closes'] as const;

/** Filters of a list under a name. */
export interface SavedView {
  slot: number;
  page: (typeof filteredPages)[number];
  name: string;
  search: Readonly<Record<string, string>>;
}

const list: Statement = {
  name: 'operator_views',
  text: 'SELECT slot, page, name, search FROM operator_view WHERE operator_id = $1 ORDER BY page, name',
};

export const findViews = (sql: Queries, operatorId: string): Promise<SavedView[]> =>
  sql.run<SavedView>(list, [operatorId]);

// Of two saves at once that take the same place one writes nothing.
const save: Statement = {
  name: 'operator_view_save',
  text: `WITH known AS (
      UPDATE operator_view SET search = $4 WHERE operator_id = $1 AND page = $2 AND name = $3 RETURNING slot),
    added AS (
      INSERT INTO operator_view (operator_id, slot, page, name, search)
      SELECT $1, s.slot, $2, $3, $4 FROM generate_series(1, 30) AS s (slot)
      WHERE NOT EXISTS (SELECT FROM known)
        AND NOT EXISTS (SELECT FROM operator_view v WHERE v.operator_id = $1 AND v.slot = s.slot)
      ORDER BY s.slot LIMIT 1
      ON CONFLICT DO NOTHING RETURNING slot)
    SELECT slot FROM known UNION ALL SELECT slot FROM added`,
};

/** Under a name that the page has, the new filters take the place of the old ones. @returns false: there is no place left */
export const saveView = async (
  tx: Queries,
  operatorId: string,
  { page, name, search }: Omit<SavedView, 'slot'>,
): Promise<boolean> => (await tx.run(save, [operatorId, page, name, JSON.stringify(search)])).length > 0;

const remove: Statement = {
  name: 'operator_view_remove',
  text: 'DELETE FROM operator_view WHERE operator_id = $1 AND slot = $2 RETURNING page, name',
};

/** @returns what was removed; undefined: there was none */
export const removeView = async (
  tx: Queries,
  operatorId: string,
  slot: number,
): Promise<Pick<SavedView, 'page' | 'name'> | undefined> =>
  (await tx.run<Pick<SavedView, 'page' | 'name'>>(remove, [operatorId, slot]))[0];
