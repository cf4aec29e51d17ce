import { argon2, timingSafeEqual } from 'node:crypto';
import { refuse } from '../../ground/errors.ts';
import { breachedPasswords } from './breached-passwords.ts';

/**
 * Passwords: 12 to 128 characters, no rules of composition, refused when they are easy to guess; kept under Argon2id with
 * the parameters that OWASP names first (19 MiB, two passes, one lane: 30 ms on one core).
 *
 * Stored as `argon2id$<KiB>$<passes>$<salt>$<hash>`, so that other parameters can follow.
 */
const memoryKib = 19_456;
const passes = 2;

export async function hashPassword(password: string, salt: Buffer): Promise<string> {
  const hash = await argon2id(password, salt, memoryKib, passes);
  return ['argon2id', memoryKib, passes, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

export async function isPassword(stored: string, password: string): Promise<boolean> {
  const [kind, memory, count, salt, hash] = stored.split('$');
  if (kind !== 'argon2id' || salt === undefined || hash === undefined) return false;
  const expected = Buffer.from(hash, 'base64url');
  const given = await argon2id(password, Buffer.from(salt, 'base64url'), Number(memory), Number(count));
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** Hashes at once in a process: half of libuv's four threads, which files and look-ups of names share. */
const atOnceMost = 2;
/** A second of work on a quiet core. Beyond it a flood of sign-ins would only make everybody wait past their deadline. */
const waitingMost = 64;
let running = 0;
const waiting: (() => void)[] = [];

/** @throws ApiError `processing_unavailable` when too many wait */
async function argon2id(password: string, nonce: Buffer, memory: number, count: number): Promise<Buffer> {
  if (running < atOnceMost) running++;
  else {
    if (waiting.length >= waitingMost) throw refuse('processing_unavailable', { retryAfterSeconds: 1 });
    // The hash that ends hands its place over, so that no newcomer takes it in between.
    await new Promise<void>((resume) => waiting.push(resume));
  }
  try {
    return await hashOf(password, nonce, memory, count);
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

function hashOf(password: string, nonce: Buffer, memory: number, count: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const message = password.normalize('NFKC');
    argon2(
      'argon2id',
      { message, nonce, parallelism: 1, tagLength: 32, memory, passes: count },
      (error, hash) => (error ? reject(error) : resolve(hash)),
    );
  });
}

/** The rest of a password of twelve characters without these decides whether it can be guessed. */
const common =
  /password|passwort|passw0rd|senha|s3nha|vintem|qwerty|qwertz|asdfgh|zxcvbn|1q2w3e4r|123456789|12345678|1234567|123456|12345|1234|987654321|iloveyou|teamo|tequiero|welcome|bemvindo|letmein|entrar|administrador|administrator|admin|dragon|monkey|princesa|princess|football|futebol|baseball|flamengo|corinthians|palmeiras|brasil|brazil|deusefiel|jesus|jesuscristo|sunshine|superman|batman|master|mestre|changeme|mudar|trocar|secret|segredo|abcdefgh|abcdef|abc|pix|banco|20[0-3]\d|19[5-9]\d|000|111|222|333|444|555|666|777|888|999/gi;

/**
 * Whether a password is among those that are tried first: the breached ones, common words and sequences with little beside them, a short
 * piece repeated, or the e-mail address itself.
 * @param password at most `passwordLength.maximum` characters: the edge refuses longer ones before anything reads them
 */
export async function isGuessable(password: string, email: string): Promise<boolean> {
  const text = password.normalize('NFKC').toLowerCase();
  const [local = ''] = email.toLowerCase().split('@');
  const rest = text
    .replaceAll(email.toLowerCase(), '')
    .replaceAll(local.length >= 4 ? local : '\u0000', '')
    .replace(common, '')
    .replace(/[^\p{L}\p{N}]/gu, '');
  if (rest.length < 4) return true;
  const breached = await breachedPasswords();
  // `unbelievable1!` is as well known as `unbelievable`.
  if (breached.has(text) || breached.has(withoutEnding(text))) return true;
  if (new Set(text).size < 5) return true;
  if (isRepeated(text)) return true;
  return isSequence(text);
}

/**
 * Digits and punctuation at the end cut off. A loop, because `/[\d\W_]+$/` starts again at each character of a run that does not reach
 * the end: 7.5 kB took 12 s.
 */
function withoutEnding(text: string): string {
  let end = text.length;
  while (end > 0 && !/[a-z]/.test(text[end - 1] as string)) end--;
  return text.slice(0, end);
}

/** One to four characters again and again, with at most three others behind them. */
function isRepeated(text: string): boolean {
  const letters = [...text];
  for (let size = 1; size <= 4; size++) {
    let same = size;
    while (same < letters.length && letters[same] === letters[same - size]) same++;
    const whole = same - (same % size);
    if (whole >= 2 * size && letters.length - whole <= 3) return true;
  }
  return false;
}

/** Every character follows the one before, up or down. */
function isSequence(text: string): boolean {
  const steps = new Set<number>();
  for (let at = 1; at < text.length; at++) steps.add(text.charCodeAt(at) - text.charCodeAt(at - 1));
  return steps.size === 1;
}
