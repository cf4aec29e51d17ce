import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'server/**/*.test.ts',
      'simulator/**/*.test.ts',
      'proof/**/*.test.ts',
      'sdk/**/*.test.ts',
      'cli/**/*.test.ts',
    ],
    // The Chromium that npm brings has builds for Linux alone.
    exclude: [...configDefaults.exclude, ...(process.platform === 'linux' ? [] : ['**/*-browser.test.ts'])],
    // One PostgreSQL for the run; `testkit/src/database.ts` clones a database from it for each file.
    globalSetup: ['testkit/src/global-setup.ts'],
    // A process for each file cost a quarter more processor time than a thread: 30 s against 22 s for four files of the edge.
    pool: 'threads',
    // Most of the time goes in waiting for disks and other processes: two at once took 383 s, one 610 (two cores).
    maxWorkers: 3,
    // Ends a test that hangs, and nothing else: fixed work takes as long as the machine needs. What waits for something polls with its own limit.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
