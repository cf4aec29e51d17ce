import type { IncomingMessage } from 'node:http';
import { refuse } from '../ground/errors.ts';

/**
 * The key of a request: only `Authorization: Bearer <key>`, once (scheme in any case).
 * @throws ApiError `api_key_missing`, `api_key_invalid`
 */
export function bearerOf(request: IncomingMessage): string {
  const header = request.headers.authorization;
  if (header === undefined || header.trim() === '') throw refuse('api_key_missing');
  // Node keeps the first of several; which of them counts is not ours to guess.
  if (isRepeated(request.rawHeaders)) throw refuse('api_key_invalid');
  const match = /^bearer +([^\s]+)\s*$/i.exec(header);
  if (!match) throw refuse(/^bearer\s*$/i.test(header) ? 'api_key_missing' : 'api_key_invalid');
  return match[1] as string;
}

function isRepeated(rawHeaders: readonly string[]): boolean {
  let times = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 13 && name.toLowerCase() === 'authorization') times++;
  }
  return times > 1;
}
