import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'server/**/*.test.ts',
      'simulator/**/*.test.ts',
      'proof/**/*.test.ts',
      'sdk/**/*.test.ts',
      'cli/**/*.test.ts',
    ],
    // One PostgreSQL for the run; `testkit/src/database.ts` clones a database from it for each file.
    globalSetup: ['testkit/src/global-setup.ts'],
    // Most of the time goes in waiting for disks and other processes: two at once took 383 s, one 610 (two cores).
    maxWorkers: 2,
    // Room for a start of the whole program on a busy machine; a law that waits for something polls with its own limit.
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
