import { timingSafeEqual } from 'node:crypto';
import { hmacSha256 } from './hmac.ts';
import { recentMap } from './recent-map.ts';

/**
 * The subject of a public page: a charge, the acquirer's page of a charge by card, a payment link, the proof of a paid charge or transfer, the proof of a refund, the
 * reminders of a charge with a due date. The codes stand in
 * printed addresses and never change.
 */
const codes = { charge: 1, link: 2, receipt: 3, refundReceipt: 4, checkout: 5, reminders: 6 } as const;

export type PageKind = keyof typeof codes;

export interface PageSubject {
  kind: PageKind;
  /** 32 bits, as in a payment's id: it leads to the account and its cell without a search. */
  accountNumber: number;
  /** Of the payment, link or refund: a UUID in lower case. */
  id: string;
}

/** Public addresses that only this installation can make. The same subject always has the same address, so it is stored nowhere. */
export interface PageAddresses {
  /** `https://pay.example.com`, without a slash at its end. */
  readonly base: string;
  /** `{base}/pay/{token}`. */
  of(kind: PageKind, accountNumber: number, id: string): string;
  /** @returns null: no token that was made here under this key */
  read(token: string): PageSubject | null;
}

/** Which key and form: the first byte of each token. */
const version = 1;
const tagBytes = 16;
/** The same charge is read again and again while its payer hesitates. */
const keptMost = 4_096;
/** The code of the kind, the account's number, the id. */
const bodyBytes = 1 + 4 + 16;
const tokenBytes = 1 + tagBytes + bodyBytes;

/** Of a token: 51 characters of base64url. */
export const tokenLength = Math.ceil((tokenBytes * 4) / 3);

/**
 * Deterministic authenticated encryption as in SIV (RFC 5297): a synthetic tag of 128 bits over the subject, and the subject under a key
 * stream that the tag begins. Both are HMAC-SHA-256 under keys of their own. A forged
 * token passes with a chance of 2^-128 a try, and an address says nothing of account, id or how many there are.
 *
 * Rejected: random tokens and a table of their hashes, which costs every charge a row, and cannot be shown again at a later GET.
 *
 * @param key the installation's page key, 32 bytes
 * @param base without a slash at its end
 */
export function createPageAddresses(key: Buffer, base: string): PageAddresses {
  const keyFor = hmacSha256(key);
  const kept = recentMap<string>(keptMost);
  const tagOf = hmacSha256(keyFor(`page address ${version} tag`));
  const streamOf = hmacSha256(keyFor(`page address ${version} stream`));

  /** @param body the subject's bytes; becomes the other of plain and sealed */
  const cover = (body: Buffer, tag: Buffer): void => {
    const stream = streamOf(tag.toString('latin1'));
    for (let at = 0; at < bodyBytes; at++) body[at] = (body[at] as number) ^ (stream[at] as number);
  };

  return {
    base,
    of(kind, accountNumber, id) {
      const name = `${codes[kind]} ${accountNumber} ${id}`;
      const known = kept.get(name);
      if (known !== undefined) return known;
      const token = Buffer.allocUnsafe(tokenBytes);
      token[0] = version;
      const body = token.subarray(1 + tagBytes);
      body[0] = codes[kind];
      body.writeUInt32BE(accountNumber, 1);
      body.write(id.replaceAll('-', ''), 5, 'hex');
      const tag = tagOf(body.toString('latin1')).subarray(0, tagBytes);
      tag.copy(token, 1);
      cover(body, tag);
      const address = `${base}/pay/${token.toString('base64url')}`;
      kept.set(name, address);
      return address;
    },
    read(text) {
      if (text.length !== tokenLength) return null;
      const token = Buffer.from(text, 'base64url');
      // The last character has two bits that mean nothing: one address, one spelling.
      if (token[0] !== version || token.length !== tokenBytes || token.toString('base64url') !== text)
        return null;
      const tag = token.subarray(1, 1 + tagBytes);
      const body = token.subarray(1 + tagBytes);
      cover(body, tag);
      if (!timingSafeEqual(tagOf(body.toString('latin1')).subarray(0, tagBytes), tag)) return null;
      const kind = kinds.get(body[0] as number);
      return kind === undefined
        ? null
        : { kind, accountNumber: body.readUInt32BE(1), id: uuidOf(body.subarray(5)) };
    },
  };
}

const kinds = new Map<number, PageKind>(
  Object.entries(codes).map(([kind, code]) => [code, kind as PageKind]),
);

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
