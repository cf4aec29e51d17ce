import { expect, test } from 'vitest';
import { commands } from './commands.ts';

/** Those that post nothing: they look, change a rule or a setting, or order what the service then does. */
const silent = [
  ...[
    'start',
    'api',
    'worker',
    'simulator',
    'migrate',
    'check',
    'doctor',
    'verify',
    'backup',
    'restore',
    'find',
  ],
  ...['account create', 'account list', 'account odd-money', 'account returns'],
  ...['account rates', 'account set', 'account show'],
  ...['account route', 'account move', 'key create', 'key list', 'key revoke', 'key roll', 'key wake'],
  ...[
    'transfer draft',
    'hold list',
    'payment show',
    'dispute list',
    'audit list',
    'request list',
    'audit export',
    'withdrawals pause',
  ],
  ...[
    'withdrawals resume',
    'withdrawals lost-time',
    'provider address',
    'provider compared',
    'provider balance',
  ],
  ...[
    'incident list',
    'incident show',
    'incident keep',
    'statement list',
    'statement dismiss',
    'unread list',
  ],
  ...['unread show', 'unread dismiss', 'connection create', 'connection list', 'connection show'],
  ...['connection test', 'connection set', 'connection rotate', 'connection holder', 'connection retire'],
  ...['connection pays-out-to', 'connection payouts'],
  ...['connection movements', 'member invite', 'member list', 'member sessions', 'member end'],
  ...['member reset-factor', 'secret status', 'secret rotate', 'subject export', 'subject anonymise'],
  ...['operator create', 'operator list', 'operator suspend', 'operator reset-factor', 'operator grant'],
  ...['operator bind-oidc'],
  ...['cells list', 'cells status', 'cells add', 'cells set', 'notice set', 'notice show', 'notice end'],
];

test('Every command of the program has --dry-run, or is known to post nothing', () => {
  const rehearsed = commands.filter(({ options }) => options?.['dry-run'] !== undefined);
  for (const { name, usage } of rehearsed) expect(usage, name).toContain('[--dry-run]');
  const posts = commands.filter((command) => !rehearsed.includes(command));
  expect(posts.map(({ name }) => name).filter((name) => !silent.includes(name))).toEqual([]);
});
