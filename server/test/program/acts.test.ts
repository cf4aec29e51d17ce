import { consolePage, withActs } from '@vintem/testkit/acts-table.ts';
import { describe, expect, test } from 'vitest';
import { requestable } from '../../src/console/requests/requests.ts';
import { costs } from '../../src/edge/costs.ts';
import { commands } from '../../src/main/cli/commands.ts';
import {
  type Act,
  type ActName,
  acts,
  commandsOfTheMachine,
  mayAct,
  operatorRoles,
} from '../../src/operate/acts.ts';

/** The table of operators' acts against the program: each call and each command has one row, and no row names what is not there. */

const rows: [ActName, Act][] = Object.entries(acts) as [ActName, Act][];
const base = '/operator/api';
/** Before the sign-in. */
const withoutSession = [
  'GET /sign-in',
  'POST /sign-in',
  'POST /sign-in/oidc',
  'POST /sign-in/oidc/answer',
  'POST /sign-in/oidc/factor',
  'POST /sign-in/passkey/options',
  'POST /sign-in/passkey',
  'POST /enrolment/look',
  'POST /enrolment/app',
  'POST /enrolment/accept',
];

describe('the table of acts', () => {
  test('has one row for each call of the console that needs a session', () => {
    const calls = Object.keys(costs)
      .filter((call) => call.includes(` ${base}/`) && !call.endsWith('/*'))
      .map((call) => call.replace(base, ''))
      .filter((call) => !withoutSession.includes(call));
    expect(rows.flatMap(([, { routes }]) => routes).sort()).toEqual(calls.sort());
  });

  test('has one row for each command, but those that run the program or its machine', () => {
    const named = [...rows.flatMap(([, act]) => act.commands), ...commandsOfTheMachine];
    expect(named.sort()).toEqual(commands.map(({ name }) => name).sort());
  });

  test('gives no act that needs a second person to one person in the console: its route ends in a request', () => {
    const needing = rows.filter(([, act]) => act.secondPerson !== 'never' && act.routes.length > 0);
    expect(needing.map(([name]) => name).filter((name) => !requestable.includes(name))).toEqual([]);
  });

  test('keeps something of every act that changes or shows what is hidden', () => {
    for (const [name, { audit, routes }] of rows) {
      const changes = routes.some((route) => !route.startsWith('GET ') && route !== 'POST /sign-out');
      expect({ name, kept: audit.length > 0 || !changes }).toEqual({ name, kept: true });
    }
  });

  test('stands in the operators’ page as it is', async () => {
    const page = await consolePage();
    expect(page).toBe(withActs(page));
  });

  test('gives no act of two people to one at the shell in silence: its commands know --break-glass', () => {
    // The others compare what the providers list, and post nothing that a person chooses.
    const quiet = ['incident own-money', 'provider compared'];
    const loud = rows
      .filter(([name, { secondPerson }]) => secondPerson !== 'never' && requestable.includes(name))
      .flatMap(([, act]) => act.commands)
      .filter((name) => !quiet.includes(name));
    const known = commands.filter(({ options }) => options?.['break-glass'] !== undefined);
    expect(known.map(({ name }) => name).sort()).toEqual(loud.sort());
    // An operator binds the own account in the console.
    const asking = commands.filter(({ options }) => options?.request !== undefined);
    expect(asking.map(({ name }) => name).sort()).toEqual(
      loud.filter((name) => name !== 'operator bind-oidc').sort(),
    );
  });

  test('lets each role do what the specification gives it', () => {
    const matrix = Object.fromEntries(
      operatorRoles.map((role) => [role, rows.filter(([name]) => mayAct(role, name)).map(([name]) => name)]),
    );
    const all: ActName[] = [
      'ownSession',
      'ownFactors',
      'ownViews',
      'worklist',
      'takeWork',
      'search',
      'accounts',
      'payments',
      'incidents',
    ];
    const money: ActName[] = ['keepIncident', 'resolveIncident', 'pauseWithdrawals', 'resumeWithdrawals'];
    expect(matrix).toEqual({
      support: [
        ...all,
        'pauseWithdrawals',
        'notice',
        'changeNotice',
        'viewPanel',
        'requests',
        'lookAtConnections',
        'processes',
        'examineConnections',
        'ownAudit',
      ],
      risk: [
        ...all,
        'personalData',
        'placeHold',
        'releaseHold',
        'defendForMerchant',
        ...money,
        'notice',
        'requests',
        'decideRequests',
        'ownAudit',
      ],
      treasury: [
        ...all,
        'keepIncident',
        'resolveIncident',
        'bookReturn',
        'pauseWithdrawals',
        'resumeWithdrawals',
        'notice',
        'requests',
        'decideRequests',
        'lookAtConnections',
        'processes',
        'examineConnections',
        'closes',
        'reconcile',
        'dismiss',
        'ownAudit',
      ],
      administrator: [
        ...all,
        'pauseWithdrawals',
        'resumeWithdrawals',
        'notice',
        'changeNotice',
        'lostTime',
        'requests',
        'decideRequests',
        'lookAtConnections',
        'processes',
        'examineConnections',
        'changeConnections',
        'createAccounts',
        'changeConditions',
        'changeOddMoneyRule',
        'keysOfMerchants',
        'peopleOfMerchants',
        'anonymise',
        'operators',
        'changeOperators',
        'ownAudit',
        'audit',
      ],
      auditor: [
        // They look, and work at nothing.
        ...all.filter((name) => name !== 'takeWork'),
        'personalData',
        'notice',
        'requests',
        'lookAtConnections',
        'processes',
        'closes',
        'operators',
        'ownAudit',
        'audit',
      ],
    });
  });
});
