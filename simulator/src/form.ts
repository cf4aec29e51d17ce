import type { IncomingHttpHeaders } from 'node:http';

/** One field of a form (multipart/form-data). */
export type Field = { name: string; fileName?: string; type?: string; bytes: Buffer };

export const isForm = (headers: IncomingHttpHeaders): boolean =>
  headers['content-type']?.startsWith('multipart/form-data') ?? false;

/** RFC 2046, 5.1.1. A bound within the expression made its check for backtracking take 80 s. */
const boundaryMost = 70;

/** Reads a form whose bytes stand in the string one by one (latin1); undefined when it is none. */
export function readForm(headers: IncomingHttpHeaders, body: string): Field[] | undefined {
  const boundary = /; ?boundary=([^;\s"]+)$/.exec(headers['content-type'] ?? '')?.[1];
  if (!isForm(headers) || boundary === undefined || boundary.length > boundaryMost) return undefined;
  const parts = `\r\n${body}`.split(`\r\n--${boundary}`);
  if (parts.length < 2 || !parts.at(-1)?.startsWith('--')) return undefined;
  const fields: Field[] = [];
  for (const part of parts.slice(1, -1)) {
    const end = part.indexOf('\r\n\r\n');
    const head = Buffer.from(part.slice(0, end), 'latin1').toString('utf8');
    const name = /content-disposition: form-data; name="([^"]*)"/i.exec(head)?.[1];
    if (end === -1 || name === undefined) return undefined;
    const fileName = /; filename="([^"]*)"/i.exec(head)?.[1];
    const type = /content-type: ([^\r\n]+)/i.exec(head)?.[1];
    fields.push({
      name,
      ...(fileName === undefined ? {} : { fileName }),
      ...(type === undefined ? {} : { type }),
      bytes: Buffer.from(part.slice(end + 4), 'latin1'),
    });
  }
  return fields;
}
