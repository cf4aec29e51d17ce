import { expect, it } from 'vitest';
import { transfer } from '../kinds/transfer/transfer.ts';
import { conditions, platform } from '../store/rows/conditions.sql.ts';
import type { View } from '../store/till.ts';
import { buildAdmission } from './admission.ts';
import { breakerRows } from './breaker.ts';

const now = Date.UTC(2026, 10, 20, 15);
const accountId = '0190a000-0000-7000-8000-000000000001';
const operationId = '0190a000-0000-7000-8000-00000000000a';
const rows: Record<string, unknown> = {
  [conditions.name]: {
    accountId,
    enabled: true,
    withdrawalsBlocked: false,
    withdrawalFeeCents: 25,
    withdrawalFeeBps: 0,
    minimumWithdrawalCents: 1_000,
    maximumWithdrawalCents: 1_000_000,
  },
  [platform.name]: { withdrawalsPausedAt: null, restoredAt: null, uncompared: [], recorded: [] },
  [breakerRows.name]: undefined,
};
const view = {
  balance: () => ({ accountId, chainId: operationId, deletedAt: null, frozen: false }),
  get: ({ name }: { name: string }) => rows[name],
  posted: () => false,
  booked: () => undefined,
} as unknown as View;

const admission = (refusedAs: 'pix_key_not_found' | null) =>
  buildAdmission(transfer, {
    caller: {
      accountId,
      accountNumber: 7,
      test: true,
      connection: 'simulator',
      keyId: null,
      permissions: new Set(),
      requestId: 'req',
      operationId,
      operationNamed: true,
    },
    order: {
      amountCents: 1_000,
      requestKey: 'k',
      description: '',
      // No key in DICT has an address as long as this.
      pixKey: refusedAs === null ? 'maria@loja.example' : `${'m'.repeat(80)}@loja.example`,
      pixKeyType: 'EMAIL',
    },
    plan: {
      connection: 'simulator',
      identity: 'the account',
      call: 'payout',
      leaseMs: 30_000,
      waitMs: 0,
      startedMs: 0,
      acceptByMs: 8_000,
      answerByMs: 8_000,
      traceparent: undefined,
      configured: true,
      offered: true,
      can: undefined,
      candidates: () => ['simulator'],
    },
    token: '0190a000-0000-7000-8000-0000000000ff',
    id: '0190a000-0000-7000-8000-000000000077',
    fingerprint: Buffer.alloc(32),
    sealed: Buffer.from('sealed'),
    hasProbe: false,
  });

it('makes the same decision in every run: the till may run it again after a lost answer', () => {
  for (const refusedAs of ['pix_key_not_found', null] as const) {
    const command = admission(refusedAs);
    expect(command.decide(view, now)).toEqual(command.decide(view, now));
  }
});

it('commits reserve, payment and intent together, before anything is sent', () => {
  const { answer, postings, writes } = admission(null).decide(view, now);
  expect(postings?.map(({ movement }) => movement)).toEqual([{ kind: 'reserve', grossCents: 1_000 }]);
  expect(writes?.map(({ table }) => table.name)).toEqual(['payment', 'intent']);
  expect(answer).toMatchObject({ replayed: false, fence: '0190a000-0000-7000-8000-0000000000ff' });
});

it('releases the reserve of a transfer that is known to be refused, and creates no intent to send it', () => {
  const { postings, writes } = admission('pix_key_not_found').decide(view, now);
  expect(postings?.map(({ movement }) => movement.kind)).toEqual(['reserve', 'release']);
  expect(writes?.map(({ table }) => table.name)).toEqual(['payment', 'event']);
});
