import { type FieldProblem, refuseFields } from '../ground/errors.ts';
import { isPrintable } from '../ground/printable.ts';
import { type LinkMethod, linkMethods } from '../kinds/link/methods.ts';

/** The fields that a payer sends to a link: by the form of its page, or as JSON with `amountCents`. */
export interface SentForm {
  /** Null: the page's form has none, which is Pix. */
  method: LinkMethod | null;
  formKey: string | null;
  amountCents: number | null;
  payerName: string | null;
  payerDocument: string | null;
  replaces: string | null;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const nameLeast = 2;
const nameMost = 100;
/** A CNPJ with its dots. */
const documentMost = 18;
const members = ['method', 'amountCents', 'payerName', 'payerDocument', 'formKey', 'replaces'];

/**
 * The members of a JSON body: `{method: 'pix' | 'card', amountCents?, payerName?, payerDocument?, formKey?, replaces?}`. Pure.
 * @throws ApiError `validation_failed`
 */
export function formOfJson(body: unknown): SentForm {
  const given = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const problems: FieldProblem[] = [];
  for (const field of Object.keys(given))
    if (!members.includes(field)) problems.push({ field, code: 'unknown_property' });
  const method = methodIn(given.method);
  if (given.method === undefined) problems.push({ field: 'method', code: 'required' });
  else if (method === null) problems.push(otherMethod);
  const { amountCents, payerName, payerDocument } = given;
  if (amountCents !== undefined && !Number.isSafeInteger(amountCents))
    problems.push({ field: 'amountCents', code: 'not_an_integer' });
  if (payerName !== undefined && typeof payerName !== 'string')
    problems.push({ field: 'payerName', code: 'not_a_string' });
  problems.push(...problemsOfName(payerName), ...problemsOfDocument(payerDocument));
  for (const field of ['formKey', 'replaces'] as const) {
    const value = given[field];
    if (value !== undefined && !(typeof value === 'string' && uuid.test(value)))
      problems.push({ field, code: 'not_a_uuid' });
  }
  if (problems.length > 0) throw refuseFields(problems);
  return {
    method,
    formKey: (given.formKey as string | undefined) ?? null,
    amountCents: (amountCents as number | undefined) ?? null,
    payerName: (payerName as string | undefined) ?? null,
    payerDocument: (payerDocument as string | undefined) ?? null,
    replaces: (given.replaces as string | undefined) ?? null,
  };
}

/**
 * The fields of the page's form. Names that it does not have are not read: browsers' extensions add some. Pure.
 * @throws ApiError `validation_failed`
 */
export function formOfPage(fields: URLSearchParams): SentForm {
  const text = (name: string): string | null => fields.get(name) || null;
  const key = (name: string): string | null => {
    const value = text(name);
    return value !== null && uuid.test(value) ? value : null;
  };
  const typed = text('amount');
  const [payerName, payerDocument] = [text('payerName'), text('payerDocument')];
  const amountCents = typed === null ? null : typedCents(typed);
  const problems = [...problemsOfName(payerName), ...problemsOfDocument(payerDocument)];
  const [named, method] = [text('method'), methodIn(text('method'))];
  if (named !== null && method === null) problems.push(otherMethod);
  if (typed !== null && amountCents === null) problems.push({ field: 'amount', code: 'not_an_integer' });
  if (problems.length > 0) throw refuseFields(problems);
  return {
    method,
    formKey: key('formKey'),
    amountCents,
    payerName,
    payerDocument,
    replaces: key('replaces'),
  };
}

/** Whether the link takes it is seen with the link. */
const methodIn = (value: unknown): LinkMethod | null =>
  linkMethods.find((method) => method === value) ?? null;

const otherMethod: FieldProblem = { field: 'method', code: 'not_one_of', allowed: [...linkMethods] };

/** Whether it is a CPF or CNPJ is seen with the link, which may ask for none. */
const problemsOfDocument = (document: unknown): FieldProblem[] => {
  if (document === undefined || document === null) return [];
  if (typeof document !== 'string') return [{ field: 'payerDocument', code: 'not_a_string' }];
  return document.length > documentMost
    ? [{ field: 'payerDocument', code: 'out_of_length', min: 0, max: documentMost }]
    : [];
};

const problemsOfName = (name: unknown): FieldProblem[] => {
  if (typeof name !== 'string') return [];
  const { length } = name.trim();
  if (length > nameMost || (length > 0 && length < nameLeast))
    return [{ field: 'payerName', code: 'out_of_length', min: nameLeast, max: nameMost }];
  return isPrintable(name) ? [] : [{ field: 'payerName', code: 'invalid_characters' }];
};

/**
 * Reais as a person in Brazil types them, in cents: `25`, `25,9`, `25,90`, `1.250,90`, and `25.90` of a keypad without a comma. Null: not to be
 * read without a guess; `1.250` could be either.
 */
export function typedCents(text: string): number | null {
  const plain = text.replace(/^\s*R\$/, '').trim();
  const [, whole, cents = ''] =
    /^(\d{1,3}(?:\.\d{3})+|\d{1,8}),(\d{1,2})$/.exec(plain) ??
    /^(\d{1,8})\.(\d{1,2})$/.exec(plain) ??
    /^(\d{1,8})$/.exec(plain) ??
    [];
  return whole === undefined ? null : Number(whole.replaceAll('.', '')) * 100 + Number(cents.padEnd(2, '0'));
}
