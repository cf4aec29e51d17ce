import type { Secrets } from '../../ground/secrets.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Sql, Statement } from '../../ports/sql.ts';

/** Of the first form of addresses (`ground/page-address.ts`). */
const id = '1';

/** As the statement that reads the installation asks for it too. */
export const sealedPageKey = `(SELECT sealed FROM page_key WHERE id = '${id}')`;

const find: Statement = { name: 'page_key', text: `SELECT ${sealedPageKey} AS sealed` };
const make: Statement = {
  name: 'page_key_make',
  text: 'INSERT INTO page_key (id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING',
};

interface Deps {
  sql: Sql;
  secrets: Pick<Secrets, 'seal' | 'open'>;
  ids: Pick<Ids, 'bytes'>;
}

/**
 * The installation's key of public addresses, 32 bytes. The first process makes it; of several at once all get the first one's.
 * @param found what the database has; null: nothing yet
 */
export async function keepPageKey({ sql, secrets, ids }: Deps, found: Buffer | null): Promise<Buffer> {
  if (found !== null) return secrets.open(found, id);
  await sql.tx((tx) => tx.run(make, [id, secrets.seal(ids.bytes(32), id)]));
  const [row] = await sql.run<{ sealed: Buffer | null }>(find);
  if (!row?.sealed) throw new Error('the page key was not kept');
  return secrets.open(row.sealed, id);
}
