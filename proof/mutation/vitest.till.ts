import { defineConfig } from 'vitest/config';

/** The laws of the till, on a PostgreSQL of their own. */
export default defineConfig({
  test: {
    include: ['server/test/till*.test.ts'],
    globalSetup: ['testkit/src/global-setup.ts'],
    testTimeout: 10_000,
    hookTimeout: 30_000,
  },
});
