import type { Reporter } from 'vitest/node';

/** The last lines of `npm test`: what ran, and what it leaves to other commands. */
export const closingLines: Reporter = {
  onTestRunEnd(modules) {
    const tests = modules.reduce((sum, module) => sum + [...module.children.allTests()].length, 0);
    process.stdout.write(
      `\n ${modules.length} files with ${tests} tests ran: the pure rules, the till, each kind of payment, the ways in, one program and one browser.\n` +
        ' `npm run test:all` runs every test (six times as long); `npm run proof` the rigs that kill, search and simulate.\n',
    );
  },
};
