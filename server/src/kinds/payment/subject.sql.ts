import type { FiscalDocument } from '../../money/fiscal-documents.ts';
import type { PaymentKind, PaymentStatus } from '../../money/payment.ts';
import type { Statement } from '../../ports/sql.ts';
import type { Receiver } from '../../provider/provider.ts';

/** The personal data of a payment, and its last change. */
export interface SubjectRow {
  id: string;
  operationId: string;
  kind: PaymentKind;
  status: PaymentStatus;
  amountCents: number;
  createdAt: number;
  updatedAt: number;
  payerName: string | null;
  /** Sealed, with the payment's id as context. */
  pixKey: Buffer | null;
  pixKeyType: string | null;
  receiver: Receiver | null;
  description: string;
  metadata: Record<string, string> | null;
  fiscalDocuments: readonly FiscalDocument[] | null;
  endToEnd: string | null;
  /** Of a payment by card. */
  card: {
    brand: string | null;
    last4: string | null;
    successUrl: string | null;
    cancelUrl: string | null;
  } | null;
  /** Of a charge with a due date: name, document, mail and address; of one by card: document, mail and telephone; sealed, with the payment's id as context. */
  payer: Buffer | null;
  /** The merchant's descriptions of its refunds. */
  refunds: { id: string; description: string }[];
  /** The defences of its disputes; sealed, in hex. */
  defences: { id: string; sealedFor: string; body: string }[];
  /** The files for the defence of its disputes. */
  files: SubjectFile[];
}

export interface SubjectFile {
  id: string;
  name: string;
  type: string;
  sizeBytes: number;
  /** Of the contents, in hex. */
  sha256: string;
}

/** Pages by key: account, the id before, how many. */
export const pageOfPayments: Statement = {
  name: 'subject_page',
  text: `SELECT id, operation_id AS "operationId", kind, status, amount_cents AS "amountCents", created_at AS "createdAt",
      updated_at AS "updatedAt", payer_name AS "payerName", pix_key AS "pixKey", pix_key_type AS "pixKeyType", receiver, description, metadata,
      fiscal_documents AS "fiscalDocuments",
      end_to_end AS "endToEnd", coalesce(payer, link_payer) AS payer,
      CASE WHEN card IS NOT NULL THEN jsonb_build_object('brand', card -> 'brand', 'last4', card -> 'last4',
        'successUrl', card -> 'successUrl', 'cancelUrl', card -> 'cancelUrl') END AS card,
      ARRAY(SELECT jsonb_build_object('id', r.id, 'description', r.description) FROM refund r
        WHERE r.account_id = payment.account_id AND r.payment_id = payment.id ORDER BY r.created_at, r.id) AS refunds,
      ARRAY(SELECT jsonb_build_object('id', d.id, 'sealedFor', f.id, 'body', encode(f.body, 'hex'))
        FROM dispute d JOIN dispute_defence f ON f.account_id = d.account_id AND f.dispute_id = d.id
        WHERE d.account_id = payment.account_id AND d.payment_id = payment.id AND f.body IS NOT NULL ORDER BY d.id, f.created_at) AS defences,
      ARRAY(SELECT jsonb_build_object('id', f.id, 'name', f.name, 'type', f.type, 'sizeBytes', f.size_bytes,
          'sha256', encode(f.sha256, 'hex'))
        FROM dispute d JOIN dispute_file f ON f.account_id = d.account_id AND f.dispute_id = d.id
        WHERE d.account_id = payment.account_id AND d.payment_id = payment.id AND f.name <> '' ORDER BY f.id) AS files
    FROM payment WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
};

/**
 * Account, ids, what stands in place of the name, the sealed key of each, the time before which the last change must lie, and the sealed payer of each. Journals and
 * their hashes name no person, so they stay as they are.
 */
export const anonymisePayments: Statement = {
  name: 'subject_anonymise',
  text: `UPDATE payment p SET payer_name = CASE WHEN p.payer_name IS NULL THEN NULL ELSE $3 END,
      pix_key = CASE WHEN p.pix_key IS NULL THEN NULL ELSE k.pix_key END, receiver = NULL,
      description = '', metadata = NULL, fiscal_documents = NULL, card = p.card - '{successUrl,cancelUrl}'::text[] || '{"brand": null, "last4": null}',
      due = p.due || '{"document": ""}', payer = CASE WHEN p.payer IS NULL OR p.card IS NOT NULL THEN NULL ELSE k.payer END,
      link_payer = NULL, payer_document = NULL
    FROM (SELECT unnest($2::uuid[]) AS id, unnest($4::bytea[]) AS pix_key, unnest($6::bytea[]) AS payer) AS k
    WHERE p.account_id = $1 AND p.id = k.id AND p.updated_at < $5
      AND p.status IN ('paid', 'completed', 'failed', 'expired', 'cancelled')
    RETURNING p.id`,
};

/** Account and payments. A refund begins within 90 days of its charge, and one that has not ended keeps its text for the provider. */
export const anonymiseRefunds: Statement = {
  name: 'subject_anonymise_refunds',
  text: `UPDATE refund SET description = '' WHERE account_id = $1 AND payment_id = ANY ($2::uuid[])
    AND status IN ('completed', 'failed') AND description <> ''`,
};

/** Account and file. Null: the contents are not kept any more. */
export const contentsOfFile: Statement = {
  name: 'subject_file',
  text: 'SELECT body FROM dispute_file WHERE account_id = $1 AND id = $2',
};

/** Account and payments. Those of a defence that is still to be sent stay for the provider. */
export const anonymiseFiles: Statement = {
  name: 'subject_anonymise_files',
  text: `UPDATE dispute_file f SET body = NULL, name = '' FROM dispute d
    WHERE d.account_id = $1 AND d.payment_id = ANY ($2::uuid[]) AND f.account_id = d.account_id AND f.dispute_id = d.id AND f.name <> ''
      AND NOT EXISTS (SELECT FROM dispute_defence s
        WHERE s.account_id = f.account_id AND s.dispute_id = f.dispute_id AND s.status = 'unknown')`,
};

/** Account and payments. One that is still to be sent keeps its text for the provider. */
export const anonymiseDefences: Statement = {
  name: 'subject_anonymise_defences',
  text: `UPDATE dispute_defence f SET body = NULL FROM dispute d
    WHERE d.account_id = $1 AND d.payment_id = ANY ($2::uuid[]) AND f.account_id = d.account_id AND f.dispute_id = d.id
      AND f.status <> 'unknown' AND f.body IS NOT NULL`,
};
