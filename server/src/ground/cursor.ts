import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { refuse } from './errors.ts';

/**
 * The place in a list where the next page begins, as opaque text: version, creation time and id of the last row seen, the time when
 * the cursor was made, and an HMAC over these and the list's filters. So a cursor works only with the same list and cannot be forged.
 */
export interface Place {
  createdAt: number;
  id: string;
}

const version = 1;
const bodyLength = 1 + 6 + 16 + 6;
const tagLength = 16;
const validForMs = 7 * 24 * 3600 * 1000;

/** @param list whatever makes the list this one: account, operation, filters, permissions */
export function cursorOf(key: Buffer, list: string, place: Place, nowMs: number): string {
  const body = Buffer.alloc(bodyLength);
  body.writeUInt8(version, 0);
  body.writeUIntBE(place.createdAt, 1, 6);
  body.write(place.id.replaceAll('-', ''), 7, 16, 'hex');
  body.writeUIntBE(nowMs, 23, 6);
  return Buffer.concat([body, tagOf(key, list, body)]).toString('base64url');
}

/** @throws ApiError `invalid_cursor` */
export function placeOf(key: Buffer, list: string, cursor: string, nowMs: number): Place {
  const bytes = Buffer.from(cursor, 'base64url');
  const body = bytes.subarray(0, bodyLength);
  const tag = bytes.subarray(bodyLength);
  if (bytes.toString('base64url') !== cursor || tag.length !== tagLength || body[0] !== version) {
    throw refuse('invalid_cursor');
  }
  if (!timingSafeEqual(tag, tagOf(key, list, body))) throw refuse('invalid_cursor');
  if (nowMs - body.readUIntBE(23, 6) > validForMs) throw refuse('invalid_cursor');
  const hex = body.toString('hex', 7, 23);
  return {
    createdAt: body.readUIntBE(1, 6),
    id: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
  };
}

const tagOf = (key: Buffer, list: string, body: Buffer): Buffer =>
  createHmac('sha256', key)
    .update(body)
    .update(hash('sha256', list, 'buffer'))
    .digest()
    .subarray(0, tagLength);
