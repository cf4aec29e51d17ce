import type { ProviderWords } from './provider.ts';
import { cut } from './wire.ts';

/** Members under which providers write what went wrong, the most telling first. */
const messages = [
  'detail',
  'mensagem',
  'message',
  'error_description',
  'error',
  'erro',
  'title',
  'descricao',
  'description',
];
const messageMost = 200;

/** The words of an error's body, with everything masked that may be an id, a Pix key, a document, a name or a code. */
export function wordsOf(status: number, name: string, body: unknown): ProviderWords {
  const whole = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const [first] = [whole.erros, whole.errors].find(Array.isArray) ?? [];
  const members = typeof first === 'object' && first !== null ? { ...whole, ...first } : whole;
  const text = messages.map((one) => members[one]).find((one) => typeof one === 'string' && /\s/.test(one));
  // First the fields: a text may be so long that they would be cut off.
  const said = [
    ...violationsIn(whole.violacoes),
    ...(typeof text === 'string' ? [masked(text)] : []),
    ...(typeof members.caminho === 'string' ? [placeOf(members.caminho)] : []),
  ];
  return {
    name: `${status} ${name}`,
    message: said.length === 0 ? null : said.join('; ').slice(0, messageMost),
  };
}

const violationsMost = 3;

/** Fields of the request that are wrong, and why, as API Pix and Banco Inter name them. */
function violationsIn(violations: unknown): string[] {
  if (!Array.isArray(violations)) return [];
  return violations.slice(0, violationsMost).flatMap((one) => {
    const { propriedade, razao } = (one ?? {}) as { propriedade?: unknown; razao?: unknown };
    if (typeof razao !== 'string') return [];
    return [typeof propriedade === 'string' ? `${placeOf(propriedade)}: ${masked(razao)}` : masked(razao)];
  });
}

/** The name of a field; a value in its place is not kept. */
const placeOf = (text: string): string =>
  /^[a-zA-Z_.[\]\d-]{1,60}$/.test(text) && (text.match(/\d/g) ?? []).length <= 2 ? text : '…';

/**
 * A word that has a digit, an `@`, or more than 24 letters is no plain word, and what stands in quotation marks is a value; so is a word in
 * capital letters at its head behind the first one, since it may be a person's name.
 */
export const masked = (text: string): string =>
  cut(text, 1000)
    .replace(/(["'`“‘«]).{0,200}?["'`”’»]/gu, '…')
    .split(' ')
    .map((word, at) => (isPlain(word, at) ? word : '…'))
    .join(' ')
    .replace(/…(?: …)+/g, '…')
    .slice(0, messageMost);

const isPlain = (word: string, at: number): boolean =>
  !/[\d@]/.test(word) &&
  word.length <= 24 &&
  (at === 0 || !/^\p{Lu}\p{Ll}/u.test(word) || knownNames.has(word.replace(/\W{1,24}$/, '')));

const knownNames: ReadonlySet<string> = new Set(['Pix', 'Banco', 'Central']);
