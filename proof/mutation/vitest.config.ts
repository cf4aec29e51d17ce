import { defineConfig } from 'vitest/config';

/** The pure tests that stand beside what is mutated. */
export default defineConfig({
  test: {
    include: [
      'server/src/{money,store/rows,api/transfers}/*.test.ts',
      'server/src/kinds/payment/interpret-report.test.ts',
      'server/src/events/webhooks/sign.test.ts',
      'server/src/ground/{money,hmac}.test.ts',
    ],
  },
});
