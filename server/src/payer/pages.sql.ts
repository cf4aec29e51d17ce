import type { CardPayment } from '../money/card.ts';
import type { PaymentKind, PaymentStatus } from '../money/payment.ts';
import type { Refund } from '../money/refund.ts';
import type { Queries, Statement } from '../ports/sql.ts';

/** The merchant as a payer sees it. */
export interface ShownSeller {
  accountId: string;
  name: string;
  cnpj: string | null;
  colour: string | null;
  /** Width and height as its file says them; null: there is none. */
  logoSides: Buffer | null;
  test: boolean;
}

/** A payment as its public pages need it: nothing of the payer, nothing of the account's books. */
export interface PublicPayment extends ShownSeller {
  id: string;
  kind: PaymentKind;
  status: PaymentStatus;
  amountCents: number;
  /** Of a transfer: what went out over Pix. */
  netAmountCents: number | null;
  feeCents: number | null;
  description: string;
  copyPaste: string | null;
  expiresAt: number | null;
  paidAt: number | null;
  settledAt: number | null;
  updatedAt: number;
  endToEnd: string | null;
  notice: string | null;
  reasonCode: string | null;
  refundedCents: number;
  returnedCents: number;
  /** A dispute of its Pix is under way. */
  contested: boolean;
  /** It was paid once more, and that Pix goes or went back to its payer. */
  secondGoesBack: boolean;
  /** The amount of its Pix, where it is paid: of a charge with a due date not always what was asked for. */
  receivedCents: number;
  /** `2026-12-10`; null: it has none. */
  dueDate: string | null;
  validAfterDue: number | null;
  byCard: boolean;
  /** The acquirer's page; null: there is none, or it is no payment by card. */
  cardUrl: string | null;
  /** Of the last attempt by card; null: there was none, or it is no payment by card. */
  cardStatus: CardPayment['status'];
  /** The link that it was made by. */
  paymentLinkId: string | null;
  /** Whether this link takes the same amount by each method now; false: there is none. */
  linkTakesPix: boolean;
  linkTakesCard: boolean;
  /** Where the merchant wants a payer who has paid: a button of the page leads there. */
  successUrl: string | null;
  /** Of a payment by card: where a payer who comes back from the acquirer is led who has paid, and who has not; of a host that the account allows. */
  returnUrl: string | null;
  cancelUrl: string | null;
}

const seller = `a.id AS "accountId", coalesce(m.display_name, a.name) AS name, m.cnpj, m.colour, substring(m.logo FROM 17 FOR 8) AS "logoSides", a.test`;

const contested = `CASE WHEN p.disputed THEN EXISTS (SELECT FROM dispute d
        WHERE d.account_id = p.account_id AND d.payment_id = p.id AND d.status IN ('open', 'defending')) ELSE false END AS contested`;

const secondGoesBack = `CASE WHEN p.notice = 'paid_again' THEN EXISTS (SELECT FROM refund r
          WHERE r.account_id = p.account_id AND r.payment_id = p.id AND r.reason = 'odd_money' AND r.status <> 'failed')
        OR (a.return_odd_money IN ('second_payment', 'all') AND EXISTS (SELECT FROM incident i
          WHERE i.account_id = p.account_id AND i.payment_id = p.id AND i.kind = 'second_payment' AND i.state = 'open'
            AND i.kept_at IS NULL AND i.opened_at >= a.return_odd_money_since)) ELSE false END AS "secondGoesBack"`;

const shown = `p.id, p.kind, p.status, p.amount_cents AS "amountCents", p.net_amount_cents AS "netAmountCents",
      p.fee_cents AS "feeCents", p.description, p.copy_paste AS "copyPaste", p.expires_at AS "expiresAt", p.paid_at AS "paidAt",
      p.settled_at AS "settledAt", p.updated_at AS "updatedAt", p.end_to_end AS "endToEnd", p.notice, p.reason_code AS "reasonCode",
      p.refunded_cents AS "refundedCents", p.returned_cents AS "returnedCents", p.payment_link_id AS "paymentLinkId",
      coalesce(p.net_amount_cents + p.provider_fee_cents, p.amount_cents) AS "receivedCents", p.due ->> 'dueDate' AS "dueDate",
      (p.due ->> 'validAfterDue')::int AS "validAfterDue", p.card IS NOT NULL AS "byCard", p.card ->> 'url' AS "cardUrl",
      p.card ->> 'status' AS "cardStatus"`;

const ofPayment: Statement = {
  name: 'page_payment',
  text: `SELECT ${seller}, ${shown}, ${contested}, ${secondGoesBack},
      coalesce(l.success_url, p.card ->> 'successUrl') AS "successUrl",
      p.card ->> 'successUrl' AS "returnUrl", p.card ->> 'cancelUrl' AS "cancelUrl", coalesce(l.takes_pix, false) AS "linkTakesPix",
      coalesce(l.takes_card AND a.card_connection IS NOT NULL AND p.amount_cents BETWEEN a.minimum_card_cents AND a.maximum_card_cents, false)
        AS "linkTakesCard"
    FROM account a JOIN payment p ON p.account_id = a.id AND p.id = $2
      LEFT JOIN payment_link l ON l.account_id = p.account_id AND l.id = p.payment_link_id
      LEFT JOIN merchant_profile m ON m.account_id = a.id
    WHERE a.number = $1`,
};

/** @param subject as a token names it */
export const findPublicPayment = async (
  sql: Queries,
  { accountNumber, id }: { accountNumber: number; id: string },
): Promise<PublicPayment | undefined> => (await sql.run<PublicPayment>(ofPayment, [accountNumber, id]))[0];

export interface PublicRefund extends ShownSeller, Pick<Refund, 'id' | 'status' | 'amountCents'> {
  settledAt: number | null;
  /** The return's id in the payment system. */
  rtrId: string | null;
}

const ofRefund: Statement = {
  name: 'page_refund',
  text: `SELECT ${seller}, r.id, r.status, r.amount_cents AS "amountCents", r.settled_at AS "settledAt", r.rtr_id AS "rtrId"
    FROM account a JOIN refund r ON r.account_id = a.id AND r.id = $2
      LEFT JOIN merchant_profile m ON m.account_id = a.id
    WHERE a.number = $1`,
};

export const findPublicRefund = async (
  sql: Queries,
  { accountNumber, id }: { accountNumber: number; id: string },
): Promise<PublicRefund | undefined> => (await sql.run<PublicRefund>(ofRefund, [accountNumber, id]))[0];

const ofAccount: Statement = {
  name: 'page_seller',
  text: `SELECT ${seller} FROM account a LEFT JOIN merchant_profile m ON m.account_id = a.id WHERE a.number = $1`,
};

export const findSeller = async (sql: Queries, accountNumber: number): Promise<ShownSeller | undefined> =>
  (await sql.run<ShownSeller>(ofAccount, [accountNumber]))[0];

const logo: Statement = {
  name: 'page_logo',
  text: 'SELECT m.logo FROM account a JOIN merchant_profile m ON m.account_id = a.id WHERE a.number = $1',
};

export const findLogo = async (sql: Queries, accountNumber: number): Promise<Buffer | null> =>
  (await sql.run<{ logo: Buffer | null }>(logo, [accountNumber]))[0]?.logo ?? null;

const behind: Statement = {
  name: 'page_news',
  text: `SELECT k.at, l.seq, e.payment_id AS "paymentId"
    FROM unnest($1::int[], $2::uuid[], $3::bigint[]) AS k (at, account_id, after)
      CROSS JOIN LATERAL (SELECT seq, event_id FROM event_log l WHERE l.account_id = k.account_id AND l.seq > k.after
        ORDER BY l.seq LIMIT $4) l
      JOIN event e ON e.account_id = k.account_id AND e.id = l.event_id
    ORDER BY k.at, l.seq`,
};

/** Payments that something was published of behind each account's place, `most` events of each at a time. */
export const findNews = (
  sql: Queries,
  places: readonly { accountId: string; after: number }[],
  most: number,
): Promise<{ at: number; seq: number; paymentId: string | null }[]> =>
  sql.run(behind, [
    places.map((_place, at) => at),
    places.map(({ accountId }) => accountId),
    places.map(({ after }) => after),
    most,
  ]);

const last: Statement = {
  name: 'page_news_start',
  text: `SELECT coalesce((SELECT last_seq FROM event_sequence WHERE account_id = $1), 0) AS "lastSeq"`,
};

/** The last place of an account's log. */
export const findLastSeq = async (sql: Queries, accountId: string): Promise<number> =>
  (await sql.run<{ lastSeq: number }>(last, [accountId]))[0]?.lastSeq ?? 0;
