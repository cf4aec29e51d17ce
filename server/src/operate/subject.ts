import type { Secrets } from '../ground/secrets.ts';
import { documentOf } from '../kinds/due/terms.ts';
import {
  anonymiseDefences,
  anonymiseFiles,
  anonymisePayments,
  anonymiseRefunds,
  contentsOfFile,
  pageOfPayments,
  type SubjectFile,
  type SubjectRow,
} from '../kinds/payment/subject.sql.ts';
import { isTerminal } from '../money/payment.ts';
import type { CardPayer } from '../provider/cards.ts';
import type { DuePayer } from '../provider/due-terms.ts';
import { type Operator, OperatorRefused, reasonOf } from '../store/operator.ts';
import { writeAudit } from '../store/rows/audit.sql.ts';

/**
 * The stored data about a person who paid or was paid: given out, or taken away when the time for which payments must be kept is over
 * (LGPD, article 18). A person is found by name (a payer's as the merchant gave it, a receiver's as the provider reported it) or by a receiver's Pix
 * key: nothing else identifies them.
 *
 * Keys are sealed payment by payment, so all payments of the account are read, in pages. Rejected: an index over a keyed hash of names and
 * keys. It would slow down every payment, and anyone with the secret could look up people.
 */
export interface Subject {
  accountId: string;
  /** Compared without regard to capitals and outer white space. */
  name: string | null;
  pixKey: string | null;
}

/** Records of operations are kept for five years at least (Lei 9.613/1998, article 10, paragraph 2). */
export const leastYears = 5;

export interface SubjectPayment extends Omit<SubjectRow, 'pixKey' | 'defences' | 'files' | 'payer'> {
  pixKey: string | null;
  /** Of a charge with a due date or by card; null: it has none, or it cannot be opened. */
  payer: GivenPayer | null;
  /** The merchant's defences of its disputes; null: it cannot be opened. */
  defences: { id: string; text: string | null }[];
  /** The files of these defences. */
  files: SubjectFile[];
}

/** The payer as the merchant gave it. */
type GivenPayer = Partial<DuePayer> & CardPayer;

/** `contents`: base64; null: they are not kept any more, or cannot be opened. */
export interface ExportedPayment extends Omit<SubjectPayment, 'files'> {
  files: (SubjectFile & { contents: string | null })[];
}

export type SubjectOperator = Operator & { secrets: Secrets };

const pageRows = 500;
const lowestId = '00000000-0000-0000-0000-000000000000';
const yearMs = 365.25 * 86_400_000;

/** Everything that the payments of the account say about the person. The look is audited, without what was looked for. */
export async function exportSubject(operator: SubjectOperator, subject: Subject): Promise<ExportedPayment[]> {
  const found: ExportedPayment[] = [];
  for await (const page of matching(operator, subject)) {
    for (const payment of page)
      found.push({ ...payment, files: await withContents(operator, subject, payment.files) });
  }
  await operator.sql.tx((tx) =>
    audited(tx, operator, subject, 'subject.export', null, { payments: found.length }),
  );
  return found;
}

/** One after the other: each is up to 10 MB. */
async function withContents(
  { sql, secrets }: SubjectOperator,
  { accountId }: Subject,
  files: readonly SubjectFile[],
): Promise<ExportedPayment['files']> {
  const read: ExportedPayment['files'] = [];
  for (const file of files) {
    const [row] = await sql.run<{ body: Buffer | null }>(contentsOfFile, [accountId, file.id]);
    const contents = row?.body ? opened(secrets, row.body, file.id) : null;
    read.push({ ...file, contents: contents?.toString('base64') ?? null });
  }
  return read;
}

export interface Anonymised {
  /** Payments that name the person no more. */
  anonymised: number;
  /** Kept: the end is not known yet. */
  open: number;
  /** Kept: the time is not over. */
  kept: number;
  /** When the last of those that are kept may go; ms since 1970. */
  keptUntil: number | null;
}

/**
 * In every ended payment whose last change is older than `years`: puts a token in place of the payer's name and of the Pix key, and removes the
 * receiver's name, CPF or CNPJ and bank, the payer's document, mail, telephone and address, description, metadata, fiscal documents, brand and last digits of a card, the addresses to which it sent its payer back, the texts of refunds and defences, and the files of defences. Amounts, states, journals and hashes stay. What may not go yet stays whole and is counted.
 */
export async function anonymiseSubject(
  operator: SubjectOperator,
  subject: Subject,
  { years, reason: text }: { years: number; reason: string },
): Promise<Anonymised> {
  const reason = reasonOf(text);
  if (!Number.isInteger(years) || years < leastYears)
    throw new OperatorRefused(`payments are kept for ${leastYears} years at least`);
  const { clock, ids, secrets, sql } = operator;
  const before = clock.now() - years * yearMs;
  const token = `anonymised-${ids.bytes(6).toString('hex')}`;
  const result: Anonymised = { anonymised: 0, open: 0, kept: 0, keptUntil: null };
  for await (const page of matching(operator, subject)) {
    const due = page.filter(({ status, updatedAt }) => isTerminal(status) && updatedAt < before);
    for (const { status, updatedAt } of page) {
      if (!isTerminal(status)) result.open++;
      else if (updatedAt >= before) {
        result.kept++;
        result.keptUntil = Math.max(result.keptUntil ?? 0, updatedAt + years * yearMs);
      }
    }
    if (due.length === 0) continue;
    const done = await sql.tx(async (tx) => {
      const [rows] = await Promise.all([
        tx.run(anonymisePayments, [
          subject.accountId,
          due.map(({ id }) => id),
          token,
          due.map(({ id }) => secrets.seal(token, id)),
          new Date(before).toISOString(),
          due.map(({ id }) => secrets.seal(JSON.stringify({ name: token, document: '' }), id)),
        ]),
        tx.run(anonymiseRefunds, [subject.accountId, due.map(({ id }) => id)]),
        // Before the defences: whether one is still to be sent is read from them.
        tx.run(anonymiseFiles, [subject.accountId, due.map(({ id }) => id)]),
        tx.run(anonymiseDefences, [subject.accountId, due.map(({ id }) => id)]),
        audited(tx, operator, subject, 'subject.anonymise', reason, { payments: due.map(({ id }) => id) }),
      ]);
      return rows as unknown[];
    });
    result.anonymised += done.length;
  }
  return result;
}

type Tx = Parameters<Parameters<Operator['sql']['tx']>[0]>[0];

const audited = (
  tx: Tx,
  { ids, clock, actor }: Operator,
  { accountId }: Subject,
  action: string,
  reason: string | null,
  detail: object,
) =>
  writeAudit(tx, {
    ...{ accountId, id: ids.uuid(), at: clock.now(), actor },
    ...{ action, subject: accountId, reason, detail },
  });

/** The person's payments, page by page of all. */
async function* matching(
  { sql, secrets }: SubjectOperator,
  subject: Subject,
): AsyncGenerator<SubjectPayment[]> {
  const name = subject.name === null ? null : comparable(subject.name);
  const wanted = subject.pixKey?.normalize('NFC').trim();
  const keys = wanted === undefined ? [] : [wanted, wanted.toLowerCase(), documentOf(wanted) ?? wanted];
  let after = lowestId;
  for (;;) {
    const rows = await sql.run<SubjectRow>(pageOfPayments, [subject.accountId, after, pageRows]);
    const read = rows.map((row) => ({
      ...row,
      pixKey: row.pixKey && textOf(secrets, row.pixKey, row.id),
      payer: row.payer && (JSON.parse(textOf(secrets, row.payer, row.id) ?? 'null') as GivenPayer | null),
      defences: row.defences.map(({ id, sealedFor, body }) => ({
        id,
        text: textOf(secrets, Buffer.from(body, 'hex'), sealedFor),
      })),
    }));
    yield read.filter(
      ({ payerName, receiver, pixKey, payer }) =>
        [payerName, receiver?.name].some((known) => name !== null && known && comparable(known) === name) ||
        [pixKey, payer?.document, payer?.email?.toLowerCase(), payer?.phone].some(
          (known) => known && keys.includes(known),
        ),
    );
    const last = rows.at(-1);
    if (!last || rows.length < pageRows) return;
    after = last.id;
  }
}

/** A value that cannot be opened is nobody's here; `vintem secret status` counts them. */
function opened(secrets: Secrets, sealed: Buffer, id: string): Buffer | null {
  try {
    return secrets.open(sealed, id);
  } catch {
    return null;
  }
}

const textOf = (secrets: Secrets, sealed: Buffer, id: string): string | null =>
  opened(secrets, sealed, id)?.toString() ?? null;

const comparable = (name: string): string =>
  name.normalize('NFC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
