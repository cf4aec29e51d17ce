/** How fast-check draws. `PROPERTY_SEED` makes a run draw what another one drew; without it each run draws anew. */
export const draws = (runs: number): { numRuns: number; endOnFailure: true; seed?: number } => ({
  numRuns: runs,
  endOnFailure: true,
  ...(process.env.PROPERTY_SEED ? { seed: Number(process.env.PROPERTY_SEED) } : {}),
});
