import { configDefaults, defineConfig } from 'vitest/config';
import { closingLines } from './testkit/src/closing-lines.ts';

/** Pure rules beside their code, and tests that only read files: no database, no process, no port. */
const pure = [
  'server/src/**/*.test.ts',
  'simulator/src/**/*.test.ts',
  'server/test/program/{asvs,claims,config,dependencies,deploy-files,imports,outside,prose}.test.ts',
  'server/test/http/interface.test.ts',
  'proof/planted/bugs.test.ts',
];

/** The tests that `npm test` runs beside them: the till, each kind of payment, each way in, one program and one browser. */
const first = [
  'server/test/ledger/*.test.ts',
  'server/test/payments/{account,charges,holds,lookup,refunds,service-rules,statement-api,transfers}.test.ts',
  'server/test/settlement/{closes,disputes,incidents,reconcile,returns,settlement-sends}.test.ts',
  'server/test/webhooks/webhooks.test.ts',
  'server/test/http/{http,http-openapi,permissions}.test.ts',
  'server/test/panel/{panel,panel-sign-in}.test.ts',
  'server/test/panel/panel-keyboard-browser.test.ts',
  'server/test/program/{operations,start}.test.ts',
  'server/test/database/pool.test.ts',
  'server/test/provider/provider.test.ts',
  'simulator/test/*.test.ts',
  'sdk/test/*.test.ts',
];
const every = [
  'server/test/**/*.test.ts',
  'simulator/test/**/*.test.ts',
  'proof/**/*.test.ts',
  'sdk/test/**/*.test.ts',
  'cli/**/*.test.ts',
];
/** The long ones of the rigs, which `npm run proof` runs after `npm run test:all`. The settings of the search are a rig of their own. */
const long = ['proof/{cards,dialects,foreign,fuzz,pages,properties,sdk,search,simulation,site}/**/*.test.ts'];
/** Waits for lists that are read every ten minutes: `npm run proof -- --only cards`. `--exclude` on the command line leaves out nothing here. */
const day = 'proof/cards/**';
// The Chromium that npm brings has builds for Linux alone.
const exclude = [
  ...configDefaults.exclude,
  ...(process.platform === 'linux' ? [] : ['**/*-browser.test.ts']),
];
// Ends a test that hangs, and nothing else: fixed work takes as long as the machine needs. What waits for something polls with its own limit.
const limits = { testTimeout: 600_000, hookTimeout: 600_000, expect: { poll: { timeout: 120_000 } } };

/** By `--mode`; every other mode runs all. CI has run the files of `npm test` before it says `AFTER_NPM_TEST=1 npm run test:all`. */
function filesOf(mode: string): { pure: string[]; service: string[]; leftOut: string[] } {
  if (mode === 'first') return { pure, service: first, leftOut: [] };
  if (mode === 'long') return { pure: [], service: long, leftOut: [day, 'proof/search/search.test.ts'] };
  if (mode === 'proof') return { pure, service: every, leftOut: [day] };
  if (mode !== 'all') return { pure, service: every, leftOut: [] };
  if (process.env.AFTER_NPM_TEST === '1') return { pure: [], service: every, leftOut: [...long, ...first] };
  return { pure, service: every, leftOut: long };
}

export default defineConfig(({ mode }) => {
  const { pure: included, service, leftOut } = filesOf(mode);
  return {
    test: {
      // Much of the time goes in waiting for disks and other processes: three at once left a third of two cores idle.
      maxWorkers: 4,
      reporters: mode === 'first' ? ['default', closingLines] : ['default'],
      projects: [
        // Modules are read once for all files: 8 instead of 12 s of CPU for eighteen of them.
        {
          test: {
            name: 'pure',
            include: included,
            exclude,
            pool: 'threads',
            isolate: false,
            ...limits,
          },
        },
        {
          test: {
            name: 'service',
            include: service,
            exclude: [...exclude, ...pure, ...leftOut],
            // One PostgreSQL for the run; `testkit/src/database.ts` clones a database from it for each file.
            globalSetup: ['testkit/src/global-setup.ts'],
            // A process for each file cost a quarter more processor time than a thread: 30 s against 22 s for four files of the edge.
            pool: 'threads',
            ...limits,
          },
        },
      ],
    },
  };
});
