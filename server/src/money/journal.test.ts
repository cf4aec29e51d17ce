import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { accounts } from './decide.ts';
import { canonicalVersion, chainStart, eventKinds, hashOf, type Journal } from './journal.ts';

/** The test vector: every field has a value of its own, negative, large and non-ASCII ones among them. */
const vector: Omit<Journal, 'hash' | 'pix'> = {
  accountId: '0193a000-0000-7000-8000-0000000000a1',
  chainId: '0193a000-0000-7000-8000-0000000000b2',
  seq: 4_294_967_299,
  template: 'complete',
  subject: 'deadbeef-0123-8456-89ab-cdef01234567',
  event: eventKinds.complete,
  reference: 'D0001-ação',
  lines: {
    available: -1000,
    reserved: 1000,
    held: 7,
    receivable: -7,
    clearing: 975,
    feeRevenue: 25,
    providerCost: -3,
    suspense: 9_007_199_254_740_991,
    adjustments: -9_007_199_254_740_991,
    cardHeld: 11,
  },
  after: { available: 1, reserved: 4_294_967_296, held: 3, receivable: 4_294_967_295, cardHeld: 5 },
  effectiveAt: 1_795_200_000_123,
  postedAt: 1_795_200_000_456,
  command: '0193a000-0000-7000-8000-0000000000c3',
  connection: 'loja-ação',
  version: canonicalVersion,
  previous: Buffer.from('ab'.repeat(32), 'hex'),
};

/** The canonical form, written from its description and not from the code: a list of bytes, numbers as BigInt. */
function independently(journal: Omit<Journal, 'hash' | 'pix'>): string {
  const uuid = (text: string) => Buffer.from(text.replaceAll('-', ''), 'hex');
  const int64 = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(BigInt(value));
    return bytes;
  };
  const int16 = (value: number) => Buffer.of(value >> 8, value & 0xff);
  const text = (value: string) => Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
  const { lines, after } = journal;
  const form = Buffer.concat([
    Buffer.of(journal.version),
    uuid(journal.accountId),
    uuid(journal.chainId),
    int64(journal.seq),
    text(journal.template),
    uuid(journal.subject),
    int16(journal.event),
    text(journal.reference),
    ...[lines.available, lines.reserved, lines.held, lines.receivable, lines.clearing].map(int64),
    ...[lines.feeRevenue, lines.providerCost, lines.suspense, lines.adjustments].map(int64),
    ...(journal.version < 3 ? [] : [int64(lines.cardHeld)]),
    ...[after.available, after.reserved, after.held, after.receivable].map(int64),
    ...(journal.version < 3 ? [] : [int64(after.cardHeld)]),
    int64(journal.effectiveAt),
    int64(journal.postedAt),
    uuid(journal.command),
    text(journal.connection ?? ''),
    journal.previous,
  ]);
  return createHash('sha256').update(form).digest('hex');
}

describe('the canonical form', () => {
  it('of the test vector has the hash that is written down, in each version', () => {
    expect(hashOf({ ...vector, version: 2 }).toString('hex')).toBe(
      '387cea91899fdb30041c12dc2a500ab005424986d772b8e13a528bdf3bfc8ebc',
    );
    expect(hashOf(vector).toString('hex')).toBe(
      '912d97c70c32f8cb4ba33dbeef86004bd3acb99236e4494186058cc4c1124e96',
    );
  });

  it('is what its description says', () => {
    expect(hashOf(vector).toString('hex')).toBe(independently(vector));
    expect(hashOf({ ...vector, version: 2 }).toString('hex')).toBe(independently({ ...vector, version: 2 }));
    expect(hashOf({ ...vector, connection: null }).toString('hex')).toBe(
      independently({ ...vector, connection: null }),
    );
    const smallest = { ...vector, template: '', reference: '', seq: 1, previous: chainStart };
    expect(hashOf(smallest).toString('hex')).toBe(independently(smallest));
  });

  it('keeps every safe integer apart from its neighbours and its negative', () => {
    for (const value of [0, 1, -1, 2 ** 31, -(2 ** 31), 2 ** 32, -(2 ** 32), 2 ** 32 - 1, 1 - 2 ** 53]) {
      const journal = { ...vector, lines: { ...vector.lines, held: value } };
      expect(hashOf(journal).toString('hex')).toBe(independently(journal));
    }
  });

  const otherId = '0193a000-0000-7000-8000-0000000000ff';
  const changes: [string, Partial<Omit<Journal, 'hash' | 'pix'>>][] = [
    ['accountId', { accountId: otherId }],
    ['chainId', { chainId: otherId }],
    ['seq', { seq: vector.seq + 1 }],
    ['template', { template: 'completf' }],
    ['subject', { subject: otherId }],
    ['event', { event: eventKinds.release }],
    ['reference', { reference: 'D0001-acao' }],
    ...accounts.map((account): [string, Partial<Journal>] => [
      `the line of ${account}`,
      { lines: { ...vector.lines, [account]: vector.lines[account] === 1 ? 2 : 1 } },
    ]),
    ...(['available', 'reserved', 'held', 'receivable', 'cardHeld'] as const).map(
      (column): [string, Partial<Journal>] => [
        `${column} after`,
        { after: { ...vector.after, [column]: vector.after[column] + 1 } },
      ],
    ),
    ['effectiveAt', { effectiveAt: vector.effectiveAt + 1 }],
    ['postedAt', { postedAt: vector.postedAt - 1 }],
    ['command', { command: otherId }],
    ['connection', { connection: 'loja-acao' }],
    ['version', { version: canonicalVersion + 1 }],
    ['previous', { previous: Buffer.from(`${'ab'.repeat(31)}ac`, 'hex') }],
  ];

  it.each(changes)('changes with %s', (_, change) => {
    expect(hashOf({ ...vector, ...change })).not.toEqual(hashOf(vector));
  });

  it('does not let text flow from one field into the next', () => {
    const one = hashOf({ ...vector, template: 'ab', reference: 'c' });
    expect(hashOf({ ...vector, template: 'a', reference: 'bc' })).not.toEqual(one);
  });

  it('covers every field of a journal', () => {
    const named = changes.flatMap(([, change]) => Object.keys(change));
    expect(new Set(named)).toEqual(new Set(Object.keys(vector)));
  });

  it('numbers the kinds of events as they are stored', () => {
    expect(eventKinds).toEqual({
      reserve: 1,
      complete: 2,
      release: 3,
      credit: 4,
      return: 5,
      debit: 6,
      suspense: 7,
      hold: 8,
      releaseHold: 9,
      resolution: 10,
      refundReserve: 11,
      refundComplete: 12,
      refundRelease: 13,
      providerCost: 14,
      ownMoney: 15,
      cardApprove: 16,
      cardRelease: 17,
      cardSeize: 18,
      cardGiveBack: 19,
      cashTransfer: 20,
      cashArrive: 21,
    });
    expect(chainStart).toEqual(Buffer.alloc(32));
  });
});
