import { createReadStream, existsSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { finish } from '@vintem/testkit/command.ts';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Merchant } from './world.ts';

/** The requests that one database answered: a file of answered payments and their operations, and the merchants that asked. */
export interface Answered {
  name: string;
  databaseUrl: string;
  file: string;
  merchants: readonly Merchant[];
}

export interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

/** Whether what was answered is stored, balances are what the payments make them, and `vintem verify` finds no fault. */
export async function checkAnswered(
  { name, databaseUrl, file, merchants }: Answered,
  settings: Record<string, string>,
): Promise<Check[]> {
  if (!existsSync(file)) return [];
  const client = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=vintem' });
  await client.connect();
  const { answered, different, missing } = await comparedWith(client, file);
  const operationIds = merchants.flatMap((merchant) => merchant.operationIds);
  const wrong = await wrongBalances(client, operationIds);
  await client.end();
  const verified = await finish(['verify', '--json'], { ...settings, DATABASE_URL: databaseUrl });
  const said = verified.code === 0 ? '' : ` ${(verified.stdout + verified.stderr).slice(0, 400)}`;
  return [
    {
      name: `${name}: every answered request is stored`,
      ok: missing === 0 && different === answered,
      detail: `${answered} answered, ${missing} missing`,
    },
    { name: `${name}: balances are right`, ok: wrong === 0, detail: `${wrong} operations wrong` },
    { name: `${name}: vintem verify`, ok: verified.code === 0, detail: `exit code ${verified.code}${said}` },
  ];
}

/** Compares the answers, a file of payments and their operations, with the stored rows. */
async function comparedWith(
  client: pg.Client,
  file: string,
): Promise<{ answered: number; different: number; missing: number }> {
  // In the database: after an hour there are more of them than fit into a string.
  await client.query('CREATE TEMPORARY TABLE answered (id uuid, operation_id uuid)');
  await pipeline(createReadStream(file), client.query(copyFrom("COPY answered FROM STDIN (DELIMITER ' ')")));
  const { rows } = await client.query<Record<'answered' | 'different' | 'missing', string>>(
    `SELECT count(*) AS answered, count(DISTINCT a.id) AS different, count(*) FILTER (WHERE p.id IS NULL) AS missing
      FROM answered a LEFT JOIN payment p ON p.id = a.id AND p.operation_id = a.operation_id`,
  );
  const [row] = rows;
  if (!row) throw new Error('a count has one row');
  return {
    answered: Number(row.answered),
    different: Number(row.different),
    missing: Number(row.missing),
  };
}

/** Operations whose columns are not what their payments make them. */
async function wrongBalances(client: pg.Client, operationIds: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    `SELECT count(*) FROM balance b CROSS JOIN LATERAL (SELECT
        coalesce(sum(amount_cents) FILTER (WHERE kind = 'deposit' AND status = 'paid'), 0)
          - coalesce(sum(amount_cents) FILTER (WHERE kind = 'transfer' AND status <> 'cancelled'), 0) AS available,
        coalesce(sum(amount_cents) FILTER (WHERE kind = 'transfer' AND status IN ('unknown', 'pending')), 0) AS reserved
      FROM payment p WHERE p.account_id = b.account_id AND p.operation_id = b.operation_id) s
    WHERE b.operation_id = ANY ($1::uuid[]) AND (b.available <> s.available OR b.reserved <> s.reserved)`,
    [operationIds],
  );
  return Number(rows[0]?.count);
}
