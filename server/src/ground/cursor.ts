import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { refuse } from './errors.ts';

/**
 * The place in a list where the next page begins, as opaque text: version, creation time and id of the last row seen (or the place as a text), the time when
 * the cursor was made, and an HMAC over these and the list's filters. So a cursor works only with the same list and cannot be forged.
 */
export interface Place {
  createdAt: number;
  id: string;
}

const ofRow = 1;
const ofText = 2;
const rowLength = 6 + 16;
const tagLength = 16;
const validForMs = 7 * 24 * 3600 * 1000;

/** @param list whatever makes the list this one: account, operation, filters, permissions */
export function cursorOf(key: Buffer, list: string, place: Place, nowMs: number): string {
  const row = Buffer.alloc(rowLength);
  row.writeUIntBE(place.createdAt, 0, 6);
  row.write(place.id.replaceAll('-', ''), 6, 16, 'hex');
  return signed(key, list, ofRow, row, nowMs);
}

/** @throws ApiError `invalid_cursor` */
export function placeOf(key: Buffer, list: string, cursor: string, nowMs: number): Place {
  const row = contentOf(key, list, ofRow, cursor, nowMs);
  if (row.length !== rowLength) throw refuse('invalid_cursor');
  const hex = row.toString('hex', 6);
  return {
    createdAt: row.readUIntBE(0, 6),
    id: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
  };
}

/** A place that is more than one row, as a text of the list's own. @param list as `cursorOf` takes it */
export const cursorOfText = (key: Buffer, list: string, text: string, nowMs: number): string =>
  signed(key, list, ofText, Buffer.from(text), nowMs);

/** @throws ApiError `invalid_cursor` */
export const textOfCursor = (key: Buffer, list: string, cursor: string, nowMs: number): string =>
  contentOf(key, list, ofText, cursor, nowMs).toString();

function signed(key: Buffer, list: string, version: number, content: Buffer, nowMs: number): string {
  const madeAt = Buffer.alloc(6);
  madeAt.writeUIntBE(nowMs, 0, 6);
  const body = Buffer.concat([Buffer.of(version), content, madeAt]);
  return Buffer.concat([body, tagOf(key, list, body)]).toString('base64url');
}

function contentOf(key: Buffer, list: string, version: number, cursor: string, nowMs: number): Buffer {
  const bytes = Buffer.from(cursor, 'base64url');
  const body = bytes.subarray(0, -tagLength);
  const tag = bytes.subarray(-tagLength);
  if (bytes.toString('base64url') !== cursor || body.length < 1 + 6 || body[0] !== version)
    throw refuse('invalid_cursor');
  if (!timingSafeEqual(tag, tagOf(key, list, body))) throw refuse('invalid_cursor');
  if (nowMs - body.readUIntBE(body.length - 6, 6) > validForMs) throw refuse('invalid_cursor');
  return body.subarray(1, -6);
}

const tagOf = (key: Buffer, list: string, body: Buffer): Buffer =>
  createHmac('sha256', key)
    .update(body)
    .update(hash('sha256', list, 'buffer'))
    .digest()
    .subarray(0, tagLength);
