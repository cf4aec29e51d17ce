import { hash } from 'node:crypto';
import { accounts, type Lines } from './decide.ts';

/**
 * A journal as it is stored: lines, the columns after it, and its place in a chain of hashes. Nothing of it ever changes.
 *
 * There is one chain per operation, and one per account (under the account's own id) for journals without a live
 * operation. `seq` counts a chain's journals without gaps; the head stands in the balance row, which is locked anyway,
 * so that the chain costs no further lock.
 */
export interface Journal {
  accountId: string;
  chainId: string;
  seq: number;
  /** The name of the movement (`decide.ts`). Hashed: a name that a release has written is never changed. */
  template: string;
  /** The event reference, unique in the account: of what, which kind, and the provider's id where one may come several times. */
  subject: string;
  event: EventKind;
  reference: string;
  lines: Lines;
  after: { available: number; reserved: number; held: number; receivable: number; cardHeld: number };
  effectiveAt: number;
  postedAt: number;
  /** The token of the command that posted it. */
  command: string;
  /** Of the clearing line; null where there is none. */
  connection: string | null;
  /**
   * The end-to-end id of the received Pix that it books; null: it books none. A connection's Pix is booked once. Not hashed: what is hashed says
   * it as well, the reference of money in suspense, or the charge that a credit pays.
   */
  pix: string | null;
  version: number;
  previous: Buffer;
  hash: Buffer;
}

/** The kinds of the event reference. Stored as numbers: never renumber. */
export const eventKinds = {
  reserve: 1,
  complete: 2,
  release: 3,
  credit: 4,
  return: 5,
  debit: 6,
  suspense: 7,
  hold: 8,
  releaseHold: 9,
  /** A person's decision about an incident; the reference names the incident. */
  resolution: 10,
  /** Of a refund; the subject is the refund. */
  refundReserve: 11,
  refundComplete: 12,
  refundRelease: 13,
  /** Of a connection, on the installation's chain: costs of the provider, and money of the company itself. */
  providerCost: 14,
  ownMoney: 15,
  /** Of a card payment: the acquirer's approval, and its release. */
  cardApprove: 16,
  cardRelease: 17,
  /** Takings of the acquirer of a card payment, by its own word, and their return; the reference is the acquirer's name of it. */
  cardSeize: 18,
  cardGiveBack: 19,
  /** Of an acquirer's connection, on the installation's chain: cash that left it for another connection, and its arrival there. */
  cashTransfer: 20,
  cashArrive: 21,
} as const;

export type EventKind = (typeof eventKinds)[keyof typeof eventKinds];

export const canonicalVersion = 3;

/** The lines of version 2. */
const withoutCards = accounts.filter((account) => account !== 'cardHeld');

/** The head of an empty chain. */
export const chainStart: Buffer = Buffer.alloc(32);

/**
 * The hash of a journal: SHA-256 over its canonical form.
 *
 * Canonical form, version 3, all integers big-endian: version (1 byte) · account id, chain id (16 bytes each) · seq (8) ·
 * template (length 2, UTF-8) · subject (16) · event (2) · reference (length 2, UTF-8) · the ten lines in the order of
 * `accounts` (8 each, two's complement) · available, reserved, held, receivable, card held after (8 each) · effective at, posted at
 * (8 each, ms) · command (16) · connection of the clearing line (length 2, UTF-8; empty: there is none) · hash of the journal
 * before (32). Version 2, from before there were card payments, has no line and no column for them.
 */
export function hashOf(journal: Omit<Journal, 'hash' | 'pix'>): Buffer {
  const template = Buffer.from(journal.template);
  const reference = Buffer.from(journal.reference);
  const connection = Buffer.from(journal.connection ?? '');
  const hasCards = journal.version >= 3;
  const fixed = hasCards ? 249 : 233;
  const form = Buffer.allocUnsafe(fixed + template.length + reference.length + connection.length);
  let at = form.writeUInt8(journal.version, 0);
  at = writeUuid(form, journal.accountId, at);
  at = writeUuid(form, journal.chainId, at);
  at = writeInteger(form, journal.seq, at);
  at = writeText(form, template, at);
  at = writeUuid(form, journal.subject, at);
  at = form.writeUInt16BE(journal.event, at);
  at = writeText(form, reference, at);
  for (const account of hasCards ? accounts : withoutCards)
    at = writeInteger(form, journal.lines[account], at);
  at = writeInteger(form, journal.after.available, at);
  at = writeInteger(form, journal.after.reserved, at);
  at = writeInteger(form, journal.after.held, at);
  at = writeInteger(form, journal.after.receivable, at);
  if (hasCards) at = writeInteger(form, journal.after.cardHeld, at);
  at = writeInteger(form, journal.effectiveAt, at);
  at = writeInteger(form, journal.postedAt, at);
  at = writeUuid(form, journal.command, at);
  at = writeText(form, connection, at);
  at += journal.previous.copy(form, at);
  if (at !== form.length)
    throw new Error('the canonical form of a journal has another length than it should');
  // By way of text: as a Buffer each digest would be one of its own outside of the heap, at twice the cost.
  return Buffer.from(hash('sha256', form, 'latin1'), 'latin1');
}

function writeUuid(form: Buffer, uuid: string, at: number): number {
  return at + form.write(uuid.replaceAll('-', ''), at, 16, 'hex');
}

/** A safe integer in eight bytes; `writeBigInt64BE` would cost a BigInt for each of nineteen numbers. */
function writeInteger(form: Buffer, value: number, at: number): number {
  form.writeInt32BE(Math.floor(value / 0x1_0000_0000), at);
  return form.writeUInt32BE(value >>> 0, at + 4);
}

function writeText(form: Buffer, text: Buffer, at: number): number {
  const start = form.writeUInt16BE(text.length, at);
  return start + text.copy(form, start);
}
