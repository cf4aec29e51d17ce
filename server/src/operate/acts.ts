/** The roles of operators. A role that cannot be read is none: `isOperatorRole` comes before every question here. */
export const operatorRoles = ['support', 'risk', 'treasury', 'administrator', 'auditor'] as const;

export type OperatorRole = (typeof operatorRoles)[number];

export const isOperatorRole = (name: string): name is OperatorRole =>
  (operatorRoles as readonly string[]).includes(name);

export type SecondPerson = 'never' | 'with_money' | 'always';

/** One thing that an operator does, in the console, on the command line, or on both. */
export interface Act {
  roles: readonly OperatorRole[];
  /** Whether a second person has to agree. `with_money`: where it moves more than `OPERATOR_ALONE_CENTS`. */
  secondPerson: SecondPerson;
  /** Fields of its entry in the audit log beside who and when; empty: it changes nothing, and nothing is kept. */
  audit: readonly ('subject' | 'reason' | 'detail')[];
  /** Calls of the console, below `/operator/api`. */
  routes: readonly string[];
  commands: readonly string[];
}

const everybody = operatorRoles;

const reading = (
  roles: readonly OperatorRole[],
  routes: readonly string[],
  commands: readonly string[],
): Act => ({ roles, secondPerson: 'never', audit: [], routes, commands });

const changing = (
  roles: readonly OperatorRole[],
  secondPerson: SecondPerson,
  audit: Act['audit'],
  commands: readonly string[],
  routes: readonly string[] = [],
): Act => ({ roles, secondPerson, audit, routes, commands });

/**
 * Every act of operators, in one table: the console asks it before each call, and a test holds the routes, the command line and the roles against
 * it. The person at the shell of the service's machine has every act, as they have its database. A route of an act that needs
 * a second person records a request (`console/requests`), which another operator with a role of the act agrees to.
 */
export const acts = {
  ownSession: reading(everybody, ['GET /session', 'POST /sign-out'], []),
  // Each change asks for a factor again, and is mailed to the person.
  ownFactors: changing(
    everybody,
    'never',
    ['subject', 'detail'],
    [],
    [
      'GET /factors',
      'POST /factors/proof/options',
      'POST /factors/proof',
      'POST /factors/passkeys/options',
      'POST /factors/passkeys',
      'POST /factors/passkeys/:id/removal',
      'POST /factors/oidc',
      'POST /factors/oidc/answer',
      'POST /factors/oidc/removal',
    ],
  ),
  ownViews: changing(
    everybody,
    'never',
    ['subject', 'detail'],
    [],
    ['GET /views', 'POST /views', 'POST /views/:slot/removal'],
  ),
  worklist: reading(
    everybody,
    ['GET /worklist', 'GET /worklist.csv'],
    ['incident list', 'dispute list', 'statement list', 'unread list'],
  ),
  // Who works at an entry. It decides nothing, and any other takes it over.
  takeWork: changing(
    ['support', 'risk', 'treasury', 'administrator'],
    'never',
    ['subject', 'detail'],
    [],
    ['POST /worklist/claims', 'POST /worklist/claims/removal'],
  ),
  search: reading(everybody, ['GET /find'], ['find']),
  accounts: reading(
    everybody,
    ['GET /accounts/:id', 'GET /operations/:id/holds'],
    ['account show', 'account list', 'hold list', 'key list', 'member list', 'member sessions'],
  ),
  payments: reading(everybody, ['GET /payments/:id', 'GET /payments/:id/evidence'], ['payment show']),
  incidents: reading(everybody, ['GET /incidents/:id'], ['incident show']),
  personalData: changing(
    ['risk', 'auditor'],
    'never',
    ['subject', 'reason'],
    ['unread show', 'subject export'],
    ['POST /payments/:id/personal-data'],
  ),
  placeHold: changing(
    ['risk'],
    'never',
    ['subject', 'reason', 'detail'],
    ['hold place'],
    ['POST /operations/:id/holds/acts', 'POST /operations/:id/holds'],
  ),
  releaseHold: changing(
    ['risk'],
    'always',
    ['subject', 'reason', 'detail'],
    ['hold release'],
    ['POST /holds/:id/acts', 'POST /holds/:id/release'],
  ),
  // The merchant's own calls carry it out. No money moves, and a provider takes one defence.
  defendForMerchant: changing(
    ['risk'],
    'never',
    ['subject', 'reason', 'detail'],
    [],
    [
      'GET /operations/:id/disputes/:disputeId/defence',
      'POST /operations/:id/disputes/:disputeId/defence/acts',
      'POST /operations/:id/disputes/:disputeId/defence',
      'POST /operations/:id/disputes/:disputeId/files',
      'POST /operations/:id/disputes/:disputeId/files/:fileId/removal',
    ],
  ),
  keepIncident: changing(
    ['risk', 'treasury'],
    'never',
    ['subject', 'reason', 'detail'],
    ['incident keep'],
    ['POST /incidents/:id/keep'],
  ),
  // To see its postings is a part of the act: a rehearsal holds locks.
  resolveIncident: changing(
    ['risk', 'treasury'],
    'with_money',
    ['subject', 'reason', 'detail'],
    ['incident resolve', 'incident own-money'],
    ['POST /incidents/:id/acts', 'POST /incidents/:id/resolution'],
  ),
  bookReturn: changing(
    ['treasury'],
    'with_money',
    ['subject', 'reason', 'detail'],
    ['payment returned'],
    ['POST /payments/:id/return/acts', 'POST /payments/:id/return'],
  ),
  pauseWithdrawals: changing(
    ['support', 'risk', 'treasury', 'administrator'],
    'never',
    ['subject', 'reason'],
    ['withdrawals pause'],
    ['POST /withdrawals/pause'],
  ),
  resumeWithdrawals: changing(
    ['risk', 'treasury', 'administrator'],
    'always',
    ['subject'],
    ['withdrawals resume', 'provider compared'],
    ['POST /withdrawals/resume'],
  ),
  notice: reading(everybody, ['GET /notice'], ['notice show']),
  // Every merchant reads it, so it is kept whole.
  changeNotice: changing(
    ['support', 'administrator'],
    'never',
    ['subject', 'detail'],
    ['notice set', 'notice end'],
    ['POST /notice', 'POST /notice/end'],
  ),
  viewPanel: changing(
    ['support'],
    'never',
    ['subject', 'reason', 'detail'],
    [],
    ['POST /accounts/:id/view', 'POST /view/end'],
  ),
  lostTime: changing(['administrator'], 'always', ['subject', 'reason', 'detail'], ['withdrawals lost-time']),
  requests: reading(everybody, ['GET /requests', 'GET /requests.csv'], ['request list']),
  // The role of the act that is asked for counts as well.
  decideRequests: changing(
    ['risk', 'treasury', 'administrator'],
    'never',
    ['subject', 'reason', 'detail'],
    [],
    [
      'POST /requests/:id/taking-up',
      'POST /requests/:id/agreement',
      'POST /requests/:id/refusal',
      'POST /requests/:id/sight',
    ],
  ),
  lookAtConnections: reading(
    ['support', 'treasury', 'administrator', 'auditor'],
    ['GET /connections', 'GET /connections.csv', 'GET /connections/:name'],
    ['connection list', 'connection show'],
  ),
  processes: reading(
    ['support', 'treasury', 'administrator', 'auditor'],
    ['GET /processes'],
    ['cells list', 'cells status', 'secret status'],
  ),
  // It calls the provider.
  examineConnections: changing(
    ['support', 'treasury', 'administrator'],
    'never',
    ['subject'],
    ['connection test', 'doctor'],
    ['POST /connections/:name/examination'],
  ),
  closes: reading(
    ['treasury', 'auditor'],
    [
      'GET /connections/:name/money',
      'GET /closes',
      'GET /closes.csv',
      'GET /closes/:day',
      'GET /closes/:day/operations',
      'GET /closes/:day/operations.csv',
    ],
    ['connection movements', 'connection payouts', 'provider balance'],
  ),
  changeConnections: changing(
    ['administrator'],
    'always',
    ['subject', 'detail'],
    [
      'connection create',
      'connection set',
      'connection rotate',
      'connection holder',
      'connection pays-out-to',
      'connection retire',
      'account route',
      'account move',
      'provider address',
    ],
  ),
  reconcile: changing(
    ['treasury'],
    'never',
    ['subject', 'detail'],
    ['reconcile', 'close', 'connection cost', 'connection own-money', 'connection payout-own'],
  ),
  dismiss: changing(
    ['treasury'],
    'never',
    ['subject', 'reason', 'detail'],
    ['statement dismiss', 'unread dismiss'],
  ),
  createAccounts: changing(['administrator'], 'never', ['subject', 'detail'], ['account create']),
  changeConditions: changing(
    ['administrator'],
    'always',
    ['subject', 'detail'],
    ['account set', 'account returns', 'account rates'],
  ),
  // It moves no money: its threshold is the most of one Pix that it newly leaves to the people of the account.
  changeOddMoneyRule: changing(
    ['administrator'],
    'with_money',
    ['subject', 'reason', 'detail'],
    ['account odd-money'],
    ['POST /accounts/:id/odd-money/acts', 'POST /accounts/:id/odd-money'],
  ),
  keysOfMerchants: changing(
    ['administrator'],
    'always',
    ['subject', 'detail'],
    ['key create', 'key revoke', 'key roll', 'key wake'],
  ),
  peopleOfMerchants: changing(
    ['administrator'],
    'always',
    ['subject', 'reason', 'detail'],
    ['member invite', 'member end', 'member reset-factor'],
  ),
  draftTransfers: changing([], 'always', ['subject', 'detail'], ['transfer draft']),
  anonymise: changing(['administrator'], 'always', ['subject', 'reason', 'detail'], ['subject anonymise']),
  operators: reading(
    ['administrator', 'auditor'],
    ['GET /operators', 'GET /operators.csv'],
    ['operator list'],
  ),
  changeOperators: changing(
    ['administrator'],
    'always',
    ['subject', 'detail'],
    ['operator create', 'operator suspend', 'operator reset-factor', 'operator grant', 'operator bind-oidc'],
    ['POST /operators/changes'],
  ),
  ownAudit: reading(everybody, ['GET /audit/own', 'GET /audit/own.csv'], []),
  audit: reading(
    ['administrator', 'auditor'],
    ['GET /audit', 'GET /audit.csv'],
    ['audit list', 'audit export', 'verify'],
  ),
} as const satisfies Record<string, Act>;

export type ActName = keyof typeof acts;

/** Commands that run the program or its machine, and are no person's act on accounts or money. */
export const commandsOfTheMachine: readonly string[] = [
  'start',
  'api',
  'worker',
  'simulator',
  'migrate',
  'check',
  'backup',
  'restore',
  'secret rotate',
  'cells add',
  'cells set',
];

/** By the row alone. */
export const mayAct = (role: OperatorRole, name: ActName): boolean =>
  (acts[name].roles as readonly OperatorRole[]).includes(role);

/** The act of each call of the console. */
export const actOfRoute: ReadonlyMap<string, ActName> = new Map(
  Object.entries(acts).flatMap(([name, { routes }]) =>
    routes.map((route): [string, ActName] => [route, name as ActName]),
  ),
);
