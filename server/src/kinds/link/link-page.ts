import type { Queries } from '../../ports/sql.ts';
import { type FieldRule, findPublicLinks, type LinkStatus } from '../../store/rows/payment-links.sql.ts';
import { leftOf, statusAt } from './link.ts';
import { type OfferedMethod, offeredBy } from './methods.ts';

/** The part of a link that its public page shows. */
export interface LinkPage {
  accountId: string;
  title: string;
  description: string;
  /** Null: the payer types it, between the two below. */
  amountCents: number | null;
  minimumCents: number | null;
  maximumCents: number | null;
  payerFields: { name: FieldRule; document: FieldRule };
  /** How it can be paid, in the order in which the page offers it. */
  methods: readonly OfferedMethod[];
  status: LinkStatus;
  /** How many more charges it makes; null: no stock limits it. */
  left: number | null;
  expiresAt: number | null;
  successUrl: string | null;
  test: boolean;
}

/** One statement, of one link. Null: there is none, its operation was deleted, or its account takes no charges. */
export async function findLinkPage(
  sql: Queries,
  accountNumber: number,
  id: string,
  now: number,
): Promise<LinkPage | null> {
  const [link] = await findPublicLinks(sql, [{ accountNumber, id }]);
  if (!link?.enabled) return null;
  const { accountId, title, description, amountCents, minimumCents, maximumCents } = link;
  const { expiresAt, successUrl, test } = link;
  return {
    ...{
      accountId,
      title,
      description,
      amountCents,
      minimumCents,
      maximumCents,
      expiresAt,
      successUrl,
      test,
    },
    payerFields: { name: link.nameField, document: link.documentField },
    methods: offeredBy(link),
    status: statusAt(link, now),
    left: leftOf(link),
  };
}
