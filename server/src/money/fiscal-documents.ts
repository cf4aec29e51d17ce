import { Type } from 'typebox';
import { type FieldProblem, refuseFields } from '../ground/errors.ts';

/**
 * Electronic fiscal documents that a charge pays for, as their merchant names them: kept and shown, and never verified. The tax reform (LC 214/2025, art. 31) links document and payment.
 */
export interface FiscalDocument {
  kind: (typeof fiscalDocumentKinds)[number];
  key: string;
}

export const fiscalDocumentKinds = ['nfe', 'nfse', 'cte', 'other'] as const;

/**
 * Of the access key: its length, and its form. NF-e, NFC-e and CT-e have 44 characters (Manual de Orientação do Contribuinte), the national NFS-e 50 (its
 * national manual). The root of the issuer's CNPJ in it may have letters (Nota Técnica Conjunta 2025.001).
 */
const forms: Record<FiscalDocument['kind'], { min: number; max: number; pattern: RegExp }> = {
  nfe: { min: 44, max: 44, pattern: /^[0-9]{6}[0-9A-Z]{12}[0-9]{26}$/ },
  cte: { min: 44, max: 44, pattern: /^[0-9]{6}[0-9A-Z]{12}[0-9]{26}$/ },
  nfse: { min: 50, max: 50, pattern: /^[0-9]{9}[0-9A-Z]{12}[0-9]{29}$/ },
  other: { min: 1, max: 60, pattern: /^[0-9A-Za-z./-]+$/ },
};

const most = 20;

const description =
  'Fiscal documents that it pays for. `key`: the access key without spaces: 44 characters of an NF-e, NFC-e (`nfe`) or CT-e, 50 of a national NFS-e, up to 60 of `other`';

const examples = [[{ kind: 'nfe', key: '35261112345678000195550010000010421123456780' }]];

const kind = Type.Unsafe<FiscalDocument['kind']>({ type: 'string', enum: [...fiscalDocumentKinds] });

/** Of a request. */
export const FiscalDocumentsBody = Type.Array(
  Type.Object({ kind, key: Type.String({ minLength: 1, maxLength: 60 }) }, { additionalProperties: false }),
  { maxItems: most, description, examples },
);

/** Of an answer. */
export const FiscalDocumentsShown = Type.Array(Type.Object({ kind, key: Type.String() }), {
  description: `${description}; absent when there are none`,
  examples,
});

/**
 * Each once and in one order, so that a repeat may give them in another; null: none.
 * @throws ApiError `validation_failed`: a key does not have the form of its kind
 */
export function fiscalDocumentsOf(given: readonly FiscalDocument[] = []): readonly FiscalDocument[] | null {
  const problems = given.flatMap(({ kind, key }, at): FieldProblem[] => {
    const { min, max, pattern } = forms[kind];
    const field = `fiscalDocuments.${at}.key`;
    if (key.length < min || key.length > max) return [{ field, code: 'out_of_length', min, max }];
    return pattern.test(key) ? [] : [{ field, code: 'invalid_format' }];
  });
  if (problems.length > 0) throw refuseFields(problems);
  const named = new Map(given.map(({ kind, key }) => [textOf({ kind, key }), { kind, key }]));
  const sorted = [...named].sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.length === 0 ? null : sorted.map(([, document]) => document);
}

/** The part of a repeat that must be equal besides the other fields; without documents there is none, as with `askedMetadata`. */
export const askedFiscalDocuments = (
  documents: readonly FiscalDocument[] | null,
): { fiscalDocuments?: string } =>
  documents === null ? {} : { fiscalDocuments: documents.map(textOf).join(' ') };

const textOf = ({ kind, key }: FiscalDocument): string => `${kind}:${key}`;

/** For a cell of a file. */
export const textOfDocuments = (documents: readonly FiscalDocument[] | null | undefined): string | null =>
  documents?.map(textOf).join(' ') ?? null;
