import type { Queries, Statement } from '../../ports/sql.ts';
import { newStaticIdentifier, parseBrCode } from '../../provider/br-code.ts';
import type { Finding, Provider } from '../../provider/provider.ts';

/**
 * Whether static codes that hang on walls still pay into the connection. A printed code keeps the Pix key of its day: where the key was changed, or
 * moved to another bank, payers pay there, and the lists of this connection stay empty.
 */

const cells: Statement = {
  name: 'printed_codes_cells',
  text: 'SELECT quote_ident(name) AS name FROM cell ORDER BY created_at, name',
};

const perPage = 1_000;

interface Page {
  all: number;
  elsewhere: number;
  /** The last one; null: there is none. */
  accountId: string | null;
  id: string | null;
}

/** By itself for each cell, page by page. Codes of a provider that has not answered yet have no text. */
const pageIn = (cell: string): Statement => ({
  name: `printed_codes_${cell}`,
  text: `SELECT count(*)::int AS all, (count(*) FILTER (WHERE position($2 IN copy_paste) = 0))::int AS elsewhere,
      (array_agg(account_id ORDER BY account_id DESC, id DESC))[1] AS "accountId", (array_agg(id ORDER BY account_id DESC, id DESC))[1] AS id
    FROM (SELECT account_id, id, copy_paste FROM ${cell}.static_code
      WHERE connection = $1 AND status = 'active' AND copy_paste IS NOT NULL AND (account_id, id) > ($3::uuid, $4::uuid)
      ORDER BY account_id, id LIMIT ${perPage}) c`,
});

const nowhere = '00000000-0000-0000-0000-000000000000';

/**
 * @param of the findings about the connection itself
 * @returns null: it has no codes in use, or its provider makes them and keeps the key to itself
 */
export async function examinePrintedCodes(
  sql: Queries,
  provider: Provider,
  of: readonly Finding[],
): Promise<Finding | null> {
  const key = await keyOf(provider);
  if (key === null) return null;
  const named = `01${String(key.length).padStart(2, '0')}${key}`;
  const count = { all: 0, elsewhere: 0 };
  for (const { name } of await sql.run<{ name: string }>(cells)) {
    let place = [nowhere, nowhere];
    for (let isFull = true; isFull; ) {
      const [page] = await sql.run<Page>(pageIn(name), [provider.connection, named, ...place]);
      count.all += page?.all ?? 0;
      count.elsewhere += page?.elsewhere ?? 0;
      isFull = page?.all === perPage;
      place = [page?.accountId ?? nowhere, page?.id ?? nowhere];
    }
  }
  if (count.all === 0) return null;
  const isRefused = of.some(({ check, ok }) => check === 'pix key' && !ok);
  return findingOf(count, isRefused);
}

/** The key that a code made now would name. */
async function keyOf(provider: Provider): Promise<string | null> {
  if (provider.capabilities.staticCodes !== 'local' || !provider.createStaticCode) return null;
  const made = await provider.createStaticCode({
    ...{ identifier: newStaticIdentifier(new Uint8Array(15)), name: '', amountCents: null },
    ...{ merchantName: '', merchantCity: '' },
  });
  return made.outcome === 'accepted' ? (parseBrCode(made.report.copyPaste)?.pixKey ?? null) : null;
}

/** Pure. */
function findingOf({ all, elsewhere }: { all: number; elsewhere: number }, isRefused: boolean): Finding {
  const about = { check: 'static codes' as const };
  const codes = `${all} static codes in use`;
  if (elsewhere > 0)
    return {
      ...about,
      ok: false,
      message: `${elsewhere} of ${codes} pay into another Pix key than the connection's`,
      action:
        'set pixKey to the earlier key again (vintem connection rotate), or have them replaced where they hang: a printed code cannot be changed',
    };
  if (isRefused)
    return {
      ...about,
      ok: false,
      message: `${codes} name the Pix key that the provider refuses`,
      action: 'bring the key back to this account, or have the codes replaced where they hang',
    };
  return { ...about, ok: true, message: `${codes} pay into the Pix key of the connection` };
}
