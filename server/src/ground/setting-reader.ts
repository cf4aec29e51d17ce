import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { encodingFault, textOf } from '../ports/outside-text.ts';

/** Reads settings one by one from an environment, and gathers what is wrong with them, so that all of it is said at once. */
export interface SettingReader {
  /** One line for each fault, which names its setting. */
  readonly faults: readonly string[];
  fault(name: string, problem: string): undefined;
  /** The value, or the content of the file that `NAME_FILE` names. An empty value counts as unset. */
  bytes(name: string): Buffer | null;
  /** The same as text, without a byte order mark and the line ends at its end. */
  text(name: string): string | null;
  /** The answer of `bytes` for a setting, as text. */
  line(name: string, bytes: Buffer | null): string | null;
  /**
   * @param wanted what a fault says that the value must be
   * @param read answers undefined for what it cannot take
   */
  setting<Value, Default>(
    name: string,
    otherwise: Default,
    wanted: string,
    read: (value: string) => Value | undefined,
  ): Value | Default;
  /** Whether a setting of this name, or its file, was read. */
  knows(name: string): boolean;
}

export function settingReader(env: NodeJS.ProcessEnv): SettingReader {
  const faults: string[] = [];
  const names = new Set<string>();
  const reader: SettingReader = {
    faults,
    fault(name, problem) {
      faults.push(`${name}: ${problem}`);
    },
    bytes(name) {
      names.add(name).add(`${name}_FILE`);
      const value = env[name] || null;
      const file = env[`${name}_FILE`] || null;
      if (value !== null && file !== null) {
        reader.fault(name, `is set twice, by itself and by ${name}_FILE`);
      } else if (file !== null) {
        try {
          return readFileSync(file);
        } catch (error) {
          reader.fault(`${name}_FILE`, (error as Error).message);
        }
      }
      return value === null ? null : Buffer.from(value);
    },
    text: (name) => reader.line(name, reader.bytes(name)),
    line(name, bytes) {
      if (bytes === null) return null;
      const ofFile = Boolean(env[`${name}_FILE`]);
      const fault = encodingFault(bytes);
      const text = textOf(bytes).replace(/[\r\n]{1,9}$/, '');
      if (fault !== null) reader.fault(ofFile ? `${name}_FILE` : name, `the file ${fault}`);
      else if (ofFile && /^\s|\s$/.test(text)) {
        reader.fault(`${name}_FILE`, 'the file begins or ends with blanks: remove them');
      }
      return fault === null ? text || null : null;
    },
    setting(name, otherwise, wanted, read) {
      const value = reader.text(name);
      if (value === null) return otherwise;
      const taken = read(value);
      if (taken === undefined) reader.fault(name, `must be ${wanted}`);
      return taken ?? otherwise;
    },
    knows: (name) => names.has(name),
  };
  return reader;
}

// -------------------------------------------------------------------------------------------------------------- forms

export const whole = (low: number, high: number) => (value: string) =>
  /^\d{1,10}$/.test(value) && Number(value) >= low && Number(value) <= high ? Number(value) : undefined;

export const oneOf =
  <Choice extends string>(choices: readonly Choice[]) =>
  (value: string): Choice | undefined =>
    choices.find((one) => one === value);

export const listOf =
  <Choice extends string>(choices: readonly Choice[]) =>
  (value: string): Choice[] | undefined => {
    const list = itemsOf(value).map(oneOf(choices));
    return list.every((one) => one !== undefined) ? list : undefined;
  };

/** Without slashes at its end. */
export const url = (schemes: readonly string[]) => (value: string) =>
  hasScheme(value, schemes) ? withoutSlash(value) : undefined;

/** An address or the name of a host, as a server listens on it: without brackets and port. */
export const host = (value: string): string | undefined =>
  (isIP(value) !== 0 && !value.includes('%')) || /^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/i.test(value)
    ? value
    : undefined;

/** An http or https address that names a server and nothing on it: paths of ours are put behind it. */
export function origin(value: string): string | undefined {
  const address = withoutSlash(value);
  if (!hasScheme(address, ['http:', 'https:'])) return undefined;
  const { pathname, search, hash, username, password } = new URL(address);
  return pathname === '/' &&
    !/[?#]/.test(address) &&
    search + hash + username + password === '' &&
    !address.includes('@')
    ? address
    : undefined;
}

export const withoutSlash = (address: string): string => address.replace(/\/{1,9}$/, '');

/** libpq lets the host be left out before the database, where `?host=` names a socket; a URL has one. */
export function postgresUrl(value: string): string | undefined {
  const address = value.replace(/^(postgres(?:ql)?:\/\/(?:[^/?#@]{0,999}@)?)\//, '$1localhost/');
  return hasScheme(address, ['postgres:', 'postgresql:']) ? address : undefined;
}

export function addresses(value: string): string[] | undefined {
  const list = itemsOf(value);
  return list.every(isAddressOrNetwork) ? list : undefined;
}

/** A sender, with or without a name: what a server would refuse when the first mail goes out. */
export const mailbox = (value: string): string | undefined =>
  /^(?:[^<>]*<[^\s@<>,;]+@[^\s@<>,;]+>|[^\s@<>,;]+@[^\s@<>,;]+)$/.test(value) ? value : undefined;

/** 32 bytes in base64. */
export function secretBytes(value: string): Buffer | undefined {
  const decoded = Buffer.from(value, 'base64');
  const same = decoded.toString('base64').replace(/={1,2}$/, '') === value.replace(/={1,2}$/, '');
  return decoded.length === 32 && same ? decoded : undefined;
}

const itemsOf = (list: string): string[] => list.split(/[\s,]+/).filter((item) => item !== '');

const hasScheme = (value: string, schemes: readonly string[]): boolean =>
  URL.canParse(value) && schemes.includes(new URL(value).protocol);

function isAddressOrNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}
