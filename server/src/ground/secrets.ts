import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { join } from 'node:path';
import type { Ids } from '../ports/ids.ts';
import { SettingFault } from './config.ts';
import { exists, keptText, passingFileSystem } from './durable-files.ts';
import { hmacSha256 } from './hmac.ts';
import { recentMap } from './recent-map.ts';

/**
 * Everything that is derived from the 32 bytes of `VINTEM_SECRET`: the pepper of API keys and the encryption of secrets at
 * rest. During a change the previous secret still reads what it wrote; only the current one writes.
 */
export interface Secrets {
  /** Names the current secret in the database; derived from it, and says nothing about it. */
  id: string;
  /** The loaded secrets, the current first. */
  known: readonly { id: string; derive(purpose: string): Buffer }[];
  currentPepper: { id: string; pepper: Buffer };
  pepperOf(id: string): Buffer | undefined;
  /** The pepper of a secret that is no longer configured, as the database keeps it. */
  addPepper(id: string, pepper: Buffer): void;
  /**
   * AES-256-GCM: a version byte, four bytes that name the secret, a nonce of 12, the data, a tag of 16.
   * @param context what the data belongs to, such as the payment's id: it opens with the same one only
   */
  seal(plain: string | Buffer, context: string): Buffer;
  /** @throws Error when it was changed, belongs to another context, or its secret is not configured */
  open(sealed: Buffer, context: string): Buffer;
  /** 32 bytes of their own for a purpose, the same in every process of the installation. */
  derive(purpose: string): Buffer;
}

const VERSION = 1;
const HEADER_BYTES = 5;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

interface Derived {
  id: Buffer;
  name: string;
  pepper: Buffer;
  /**
   * A key for every context: random nonces are only good for 2^32 messages under one key, which 3,600 transfers a second use
   * up in two weeks.
   */
  keyFor(context: string): Buffer;
  derive(purpose: string): Buffer;
}

export function createSecrets(ids: Ids, current: Buffer, previous: Buffer | null = null): Secrets {
  const known = [current, ...(previous ? [previous] : [])].map(derived);
  const [own] = known as [Derived];
  const peppers = new Map(known.map(({ name, pepper }) => [name, pepper]));
  const recent = recentlySealed();
  return {
    id: own.name,
    known: known.map(({ name, derive }) => ({ id: name, derive })),
    currentPepper: { id: own.name, pepper: own.pepper },
    pepperOf: (id) => peppers.get(id),
    addPepper: (id, pepper) => {
      if (!peppers.has(id)) peppers.set(id, pepper);
    },

    seal: (plain, context) => {
      const header = Buffer.concat([Buffer.of(VERSION), own.id]);
      const nonce = ids.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', own.keyFor(context), nonce);
      cipher.setAAD(Buffer.concat([header, Buffer.from(context)]));
      const parts = [header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()];
      const sealed = Buffer.concat(parts);
      if (typeof plain === 'string' && plain.length <= recentLongest) recent.add(sealed, context, plain);
      return sealed;
    },

    open: (sealed, context) => {
      const plain = recent.find(sealed, context);
      if (plain !== undefined) return Buffer.from(plain);
      if (sealed[0] !== VERSION || sealed.length < HEADER_BYTES + NONCE_BYTES + TAG_BYTES) {
        throw new Error('not something that was sealed here');
      }
      const header = sealed.subarray(0, HEADER_BYTES);
      const writer = known.find(({ id }) => id.equals(header.subarray(1)));
      if (!writer) throw new Error('sealed under a secret that is not at hand: set VINTEM_SECRET_PREVIOUS');
      const nonce = sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', writer.keyFor(context), nonce);
      decipher.setAAD(Buffer.concat([header, Buffer.from(context)]));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const data = sealed.subarray(HEADER_BYTES + NONCE_BYTES, -TAG_BYTES);
      return Buffer.concat([decipher.update(data), decipher.final()]);
    },

    derive: own.derive,
  };
}

/** A Pix key, and nothing as long as a body. */
const recentLongest = 77;
const recentMost = 8_192;

/**
 * Values that this process sealed a moment ago: the Pix key of a transfer is opened twice within its life, 15 µs each, where this takes 0.5. The whole
 * sealed bytes and their context are looked up, so what was changed is opened, and fails.
 */
function recentlySealed() {
  const recent = recentMap<string>(recentMost);
  const nameOf = (sealed: Buffer, context: string): string =>
    `${context.length} ${context}${sealed.toString('latin1')}`;
  return {
    add: (sealed: Buffer, context: string, plain: string): void => recent.set(nameOf(sealed, context), plain),
    find: (sealed: Buffer, context: string): string | undefined => recent.get(nameOf(sealed, context)),
  };
}

interface SecretSettings {
  secret: Buffer | null;
  secretPrevious: Buffer | null;
  dataDir: string;
  databaseUrl: string | null;
}

/**
 * From `VINTEM_SECRET`, or the one kept in `DATA_DIR/secret`, which the first process makes.
 * @throws SettingFault when a new one would have to be made where it does not stay, or cannot be written
 */
export async function loadSecrets(ids: Ids, config: SecretSettings): Promise<Secrets> {
  return createSecrets(ids, config.secret ?? (await keptSecret(ids, config)), config.secretPrevious);
}

/** Whether there is a secret: `loadSecrets` would make one. */
export const hasSecret = async (config: { secret: Buffer | null; dataDir: string }): Promise<boolean> =>
  config.secret !== null || exists(join(config.dataDir, 'secret'));

/**
 * The embedded database and the secret stand in the same folder and are lost together. A database elsewhere outlives the folder: a secret
 * that was generated in the file system of a container would be gone with it, and everything that is sealed under it.
 */
export async function secretProblem(config: SecretSettings): Promise<string | null> {
  if (config.databaseUrl === null || (await hasSecret(config))) return null;
  const fileSystem = await passingFileSystem(config.dataDir);
  if (fileSystem === null) return null;
  return `VINTEM_SECRET: is missing, and one that is generated in DATA_DIR (${config.dataDir}, ${fileSystem}) would be lost with the container or the machine: set 32 random bytes in base64, such as those of \`openssl rand -base64 32\`, the same in every process`;
}

async function keptSecret(ids: Ids, config: SecretSettings): Promise<Buffer> {
  const problem = await secretProblem(config);
  if (problem !== null) throw new SettingFault(problem);
  const path = join(config.dataDir, 'secret');
  const text = await keptText(path, () => ids.bytes(32).toString('base64')).catch((error: Error) => {
    throw new SettingFault(`VINTEM_SECRET: is missing, and none can be kept in DATA_DIR: ${error.message}`);
  });
  const secret = Buffer.from(text, 'base64');
  if (secret.length !== 32) throw new SettingFault(`VINTEM_SECRET: ${path} does not hold 32 bytes in base64`);
  return secret;
}

function derived(secret: Buffer): Derived {
  const id = hkdf(secret, 'vintem secret id').subarray(0, 4);
  return {
    id,
    name: id.toString('hex'),
    derive: (purpose) => hkdf(secret, `vintem ${purpose}`),
    pepper: hkdf(secret, 'vintem key pepper'),
    keyFor: hmacSha256(hkdf(secret, 'vintem sealing')),
  };
}

const hkdf = (secret: Buffer, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), info, 32));
