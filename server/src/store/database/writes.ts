import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';

/** One row is written at most this often, however many ask. */
const probeEveryMs = 2_000;

/** Longer than half a page, and never compressed nor stored apart: no page takes two of them. */
const fill = {
  name: 'write_probe',
  text: `INSERT INTO write_probe (filling) VALUES (repeat(' ', 8000))`,
};

/**
 * Tests whether the database can write by writing: with a full disk, or on a server that became read-only, reads still succeed.
 *
 * The row needs a new page, as journals and payments do, and is rolled back at once. Rejected: a row that is updated in place
 * (works on a full disk), and the outcome of the last batch (a service that is not ready gets no requests, so the value would never change).
 */
export function createWriteProbe({ sql, clock }: { sql: Sql; clock: Clock }): () => Promise<boolean> {
  let last: { at: number; works: Promise<boolean> } | null = null;

  async function works(): Promise<boolean> {
    try {
      const tx = await sql.begin();
      try {
        await tx.run(fill);
      } finally {
        await tx.rollback();
      }
      return true;
    } catch {
      return false;
    }
  }

  return () => {
    const now = clock.monotonicMs();
    if (last === null || now - last.at >= probeEveryMs) last = { at: now, works: works() };
    return last.works;
  };
}
