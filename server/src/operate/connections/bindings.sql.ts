import type { Queries, Statement } from '../../ports/sql.ts';

/** The connections in a copy of the database: accounts that were moved or routed later, and connections made later, are not in it. */
export interface Binding {
  connection: string;
  state: 'active' | 'retired';
  /** Accounts that are bound to it. */
  accounts: number;
  /** Accounts whose new charges go to it while their own connection takes none. */
  routed: number;
}

const bindings: Statement = {
  name: 'connection_bindings',
  text: `SELECT c.id AS connection, c.state, count(a.id) FILTER (WHERE a.connection = c.id)::int AS accounts,
      count(a.id) FILTER (WHERE c.id = ANY (a.charge_fallback))::int AS routed
    FROM connection c LEFT JOIN account a ON a.number > 0 AND (a.connection = c.id OR c.id = ANY (a.charge_fallback))
    GROUP BY c.id ORDER BY c.id`,
};

export const findBindings = (sql: Queries): Promise<Binding[]> => sql.run<Binding>(bindings);
