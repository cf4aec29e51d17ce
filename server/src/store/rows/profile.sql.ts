import { cnpjText } from '../../ground/cnpj.ts';
import type { Letterhead } from '../../ground/letterhead.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../database/pool.ts';

/** How a merchant shows itself; null: not set. */
export interface MerchantProfile {
  displayName: string | null;
  /** The name in its register (razão social). */
  legalName: string | null;
  /** 14 characters, without points and lines. */
  cnpj: string | null;
  /** `#rrggbb`, lower case. */
  colour: string | null;
  /** PNG. */
  logo: Buffer | null;
  /** ms since 1970. */
  updatedAt: number;
}

const select: Statement = {
  name: 'merchant_profile',
  text: `SELECT display_name AS "displayName", legal_name AS "legalName", cnpj, colour, logo, updated_at AS "updatedAt"
    FROM merchant_profile WHERE account_id = $1`,
};

export const findProfile = async (sql: Queries, accountId: string): Promise<MerchantProfile | undefined> =>
  (await sql.run<MerchantProfile>(select, [accountId]))[0];

/** Whom people read about: the merchant's own name, or that of its account. */
export interface ShownMerchant {
  name: string;
  cnpj: string | null;
}

const selectShown: Statement = {
  name: 'merchant_shown',
  text: `SELECT coalesce(p.display_name, a.name) AS name, p.cnpj
    FROM account a LEFT JOIN merchant_profile p ON p.account_id = a.id WHERE a.id = $1`,
};

export const findShownMerchant = async (sql: Queries, accountId: string): Promise<ShownMerchant> =>
  (await sql.run<ShownMerchant>(selectShown, [accountId]))[0] ?? { name: '', cnpj: null };

const selectLetterhead: Statement = {
  name: 'merchant_letterhead',
  text: `SELECT coalesce(p.display_name, a.name) AS name, p.legal_name AS "legalName", p.cnpj, p.colour, p.logo
    FROM merchant_profile p JOIN account a ON a.id = p.account_id WHERE p.account_id = $1`,
};

/** Null: the merchant has set nothing of its own. */
export async function findLetterhead(sql: Queries, accountId: string): Promise<Letterhead | null> {
  type Row = ShownMerchant & Pick<MerchantProfile, 'legalName' | 'colour' | 'logo'>;
  const [row] = await sql.run<Row>(selectLetterhead, [accountId]);
  if (!row) return null;
  const { cnpj, legalName, ...shown } = row;
  const detail = [legalName, cnpj === null ? null : `CNPJ ${cnpjText(cnpj)}`].filter((part) => part !== null);
  return { ...shown, detail: detail.join(' · ') || null };
}

const upsert: Statement = {
  name: 'merchant_profile_put',
  text: `INSERT INTO merchant_profile (account_id, display_name, legal_name, cnpj, colour, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (account_id) DO UPDATE SET display_name = excluded.display_name, legal_name = excluded.legal_name, cnpj = excluded.cnpj,
      colour = excluded.colour, updated_at = excluded.updated_at`,
};

export const putProfile = async (
  sql: Queries,
  accountId: string,
  { displayName, legalName, cnpj, colour, updatedAt }: Omit<MerchantProfile, 'logo'>,
): Promise<void> => {
  await sql.run(upsert, [accountId, displayName, legalName, cnpj, colour, timestamp(updatedAt)]);
};

const upsertLogo: Statement = {
  name: 'merchant_logo_put',
  text: `INSERT INTO merchant_profile (account_id, logo, updated_at) VALUES ($1, $2, $3)
    ON CONFLICT (account_id) DO UPDATE SET logo = excluded.logo, updated_at = excluded.updated_at`,
};

/** `logo`: null takes it away. */
export const putLogo = async (
  sql: Queries,
  accountId: string,
  logo: Buffer | null,
  now: number,
): Promise<void> => {
  await sql.run(upsertLogo, [accountId, logo, timestamp(now)]);
};
