import { expect, test } from 'vitest';
import { decide, emptyBalance, type Movement } from '../money/decide.ts';
import { eventKinds, type Journal } from '../money/journal.ts';
import type { Queries } from '../ports/sql.ts';
import { insertJournals } from './ledger.sql.ts';
import { type PlannedPosting, plannedBy } from './rehearsal.ts';

const id = '01939f3a-7a00-7000-8000-000000000003';

function journalOf(movement: Movement): Journal {
  const decision = decide({ ...emptyBalance, available: 9_000, reserved: 1_000 }, movement);
  if ('refused' in decision) throw new Error(decision.refused);
  return {
    ...{
      accountId: id,
      chainId: id,
      seq: 1,
      template: movement.kind,
      subject: id,
      event: eventKinds.complete,
    },
    ...{ reference: '', lines: decision.lines, after: decision.balance, effectiveAt: 0, postedAt: 0 },
    ...{ command: id, connection: 'simulator', pix: null, version: 3 },
    ...{ previous: Buffer.alloc(32), hash: Buffer.alloc(32) },
  };
}

/** A rehearsal of an insert of these journals: the postings that it shows, by the statement that it runs. */
async function shown(movements: readonly Movement[]): Promise<Record<string, PlannedPosting[]>> {
  const seen: Record<string, PlannedPosting[]> = {};
  const run: Queries['run'] = async (statement, values = []) => {
    seen[statement.name] = plannedBy(statement, values);
    return [];
  };
  await insertJournals({ run }, movements.map(journalOf));
  return seen;
}

const complete: Movement = { kind: 'complete', grossCents: 1_000, feeCents: 50 };
const hold: Movement = { kind: 'hold', amountCents: 300 };
const posting = (movement: string, lines: PlannedPosting['lines']): PlannedPosting => ({
  ...{ accountId: id, chainId: id, movement, lines, connection: 'simulator' },
});
const completed = posting('complete', { reserved: -1_000, clearing: 950, feeRevenue: 50 });

test('A rehearsal shows the journals of both inserts: with the columns that few journals have, and without them', async () => {
  expect(await shown([complete])).toEqual({ journal_insert_common: [completed] });
  expect(await shown([complete, hold])).toEqual({
    journal_insert: [completed, posting('hold', { available: -300, held: 300 })],
  });
});
