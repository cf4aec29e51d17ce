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

const mostCounted = 1_000;

/** By itself for each cell. Codes of a provider that has not answered yet have no text. */
const countIn = (cell: string): Statement => ({
  name: `printed_codes_${cell}`,
  text: `SELECT count(*)::int AS all, (count(*) FILTER (WHERE position($2 IN copy_paste) = 0))::int AS elsewhere FROM (
      SELECT copy_paste FROM ${cell}.static_code WHERE connection = $1 AND status = 'active' AND copy_paste IS NOT NULL
      ORDER BY account_id, id LIMIT ${mostCounted}) c`,
});

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
  for (const cell of await sql.run<{ name: string }>(cells))
    for (const one of await sql.run<typeof count>(countIn(cell.name), [provider.connection, named])) {
      count.all += one.all;
      count.elsewhere += one.elsewhere;
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
  const codes = `${all === mostCounted ? `${all} or more` : all} static codes in use`;
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
