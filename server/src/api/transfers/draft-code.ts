import { type BinaryLike, scrypt } from 'node:crypto';
import type { Secrets } from '../../ground/secrets.ts';
import type { Ids } from '../../ports/ids.ts';

/** Codes of drafts: six digits, stored as scrypt hashes. */
export interface CodeDeps {
  ids: Ids;
  secrets: Secrets;
}

export interface NewCode {
  code: string;
  salt: Buffer;
  hash: Buffer;
}

export interface GivenCode {
  paymentId: string;
  /** Of the person who asked for the code; undefined on the command line and for API keys. */
  session: string | undefined;
  code: string;
}

const codePurpose = 'draft codes';

export async function newCode(
  deps: CodeDeps,
  paymentId: string,
  session: string | undefined,
): Promise<NewCode> {
  const code = sixDigits(deps.ids);
  const salt = deps.ids.bytes(16);
  const hash = await hashOf(deps.secrets.derive(codePurpose), { paymentId, session, code }, salt);
  return { code, salt, hash };
}

/** Hashes under every known secret: a code that was mailed before the secret was replaced is valid until its draft ends. */
export const hashesOf = (
  { secrets }: Pick<CodeDeps, 'secrets'>,
  given: GivenCode,
  salt: BinaryLike,
): Promise<Buffer[]> =>
  Promise.all(secrets.known.map(({ derive }) => hashOf(derive(codePurpose), given, salt)));

/** Every code is equally likely: a number from the last, incomplete million of 32 bits is drawn again. */
export function sixDigits(ids: Ids): string {
  const most = Math.floor(2 ** 32 / 1_000_000) * 1_000_000;
  for (;;) {
    const drawn = ids.bytes(4).readUInt32BE();
    if (drawn < most) return String(drawn % 1_000_000).padStart(6, '0');
  }
}

/**
 * scrypt with 16 MiB, some 50 ms of a core, over the code, its draft, the session and a secret of the installation. A million codes are
 * quickly tried against any hash; without the secret, a copy of the database is not enough to try them.
 */
function hashOf(
  secret: Buffer,
  { paymentId, session = '', code }: GivenCode,
  salt: BinaryLike,
): Promise<Buffer> {
  const pepper = secret.toString('base64');
  return new Promise((resolve, reject) => {
    scrypt(`${pepper}:${paymentId}:${session}:${code}`, salt, 32, { N: 16_384, r: 8, p: 1 }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    );
  });
}
