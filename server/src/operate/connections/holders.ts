import { cnpjOf, cnpjText } from '../../ground/cnpj.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import type { Finding } from '../../provider/provider.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { installationId, writeAudit } from '../../store/rows/audit.sql.ts';

/**
 * Whose money stands in whose account at a provider. Accounts that move money of third parties must be adapted by 2026-12-31 (Res. BCB 518/2025, Joint
 * Res. 16/2025): a connection that is shared by accounts of another company than its holder is named before that.
 */
export const adaptedBy = '2026-12-31';

/** The first eight characters of a CNPJ are the company's; what follows names its branches. */
const rootLength = 8;

const shared: Statement = {
  name: 'holder_shared',
  text: `SELECT a.id, a.connection, c.holder_cnpj AS holder FROM connection c JOIN account a ON a.connection = c.id
    WHERE c.mode = 'shared' AND c.state = 'active' AND NOT c.test AND a.number > 0 AND NOT a.test
      AND ($1::text IS NULL OR c.id = $1)`,
};

const cells: Statement = {
  name: 'holder_cells',
  text: 'SELECT quote_ident(name) AS name FROM cell ORDER BY created_at, name',
};

/** By itself for each cell: what is joined stands on one node of a cluster. */
const profilesIn = (cell: string): Statement => ({
  name: `holder_profiles_${cell}`,
  text: `SELECT account_id AS id, cnpj FROM ${cell}.merchant_profile WHERE account_id = ANY ($1::uuid[]) AND cnpj IS NOT NULL`,
});

export interface ForeignAccounts {
  connection: string;
  /** Null: the owner of the account is not known. */
  holderCnpj: string | null;
  /** Accounts of other companies than the holder; without a holder, of others than most are of. */
  accounts: number;
}

/**
 * Shared connections that move money and serve accounts of another company. Accounts that have not said their CNPJ are left out.
 * @param name of one connection; null: of all
 */
export async function findForeignAccounts(
  sql: Queries,
  name: string | null = null,
): Promise<ForeignAccounts[]> {
  const bound = await sql.run<{ id: string; connection: string; holder: string | null }>(shared, [name]);
  const cnpjs = new Map<string, string>();
  for (const cell of await sql.run<{ name: string }>(cells)) {
    const ids = bound.map(({ id }) => id);
    for (const { id, cnpj } of await sql.run<{ id: string; cnpj: string }>(profilesIn(cell.name), [ids]))
      cnpjs.set(id, cnpj.slice(0, rootLength));
  }
  return [...Map.groupBy(bound, ({ connection }) => connection)].flatMap(([connection, accounts]) => {
    const roots = accounts.flatMap(({ id }) => cnpjs.get(id) ?? []);
    const holderCnpj = accounts[0]?.holder ?? null;
    const foreign = foreignAmong(roots, holderCnpj?.slice(0, rootLength) ?? null);
    return foreign === 0 ? [] : [{ connection, holderCnpj, accounts: foreign }];
  });
}

/** Pure. */
export function foreignAmong(roots: readonly string[], holder: string | null): number {
  if (holder !== null) return roots.filter((root) => root !== holder).length;
  const counts = [...Map.groupBy(roots, (root) => root).values()].map(({ length }) => length);
  return roots.length - Math.max(0, ...counts);
}

/** A warning: payments work, and a lawyer has to say whether they may. */
export function holderWarning({ holderCnpj, accounts }: ForeignAccounts): Finding {
  const holder =
    holderCnpj === null
      ? 'whose holder is not known (vintem connection holder)'
      : `of ${cnpjText(holderCnpj)}`;
  return {
    check: 'holder',
    ok: true,
    message: `an account ${holder} serves ${accounts} accounts of another company: ask a lawyer before ${adaptedBy}, see docs/operators/who-may-run-this.md`,
  };
}

const set: Statement = {
  name: 'holder_set',
  text: 'UPDATE connection SET holder_cnpj = $2 WHERE id = $1 RETURNING id',
};

/**
 * Says who holds the account at the provider; audited.
 * @param cnpj as people write it; null: it is not known any more
 * @throws OperatorRefused no such connection, or no CNPJ
 */
export async function setHolder(
  { sql, ids, clock, actor }: Operator,
  connection: string,
  cnpj: string | null,
): Promise<{ connection: string; holderCnpj: string | null }> {
  const holderCnpj = cnpj === null ? null : cnpjOf(cnpj);
  if (cnpj !== null && holderCnpj === null) throw new OperatorRefused('that is no CNPJ');
  await sql.tx(async (tx) => {
    if ((await tx.run(set, [connection, holderCnpj])).length === 0)
      throw new OperatorRefused(`no connection ${connection}`);
    const audit = {
      ...{ accountId: installationId, id: ids.uuid(), at: clock.now(), actor },
      ...{ action: 'connection.holder', subject: connection, reason: null, detail: { holderCnpj } },
    };
    await writeAudit(tx, audit);
  });
  return { connection, holderCnpj };
}
