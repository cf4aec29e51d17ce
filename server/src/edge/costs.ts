import type { Permission } from '../ground/permissions.ts';
import type { Policy } from './rate-limit.ts';

/**
 * The cost of the dearest call of each route, in one table. A route without a row fails `test/http/edge-limits.test.ts`, which also measures the
 * dearest call of each kind.
 *
 * - `memory`: no statement; answered from what the process has.
 * - `probe`: one small write at most every two seconds, for all callers together.
 * - `delivery`: what a provider delivers; bounded by bytes, and by what is applied at once.
 * - `visit`: a person or a stranger before an account is known. Counted by address, and what guesses or mails by its own attempts.
 * - `rows`: at most 1,000 rows, by an index.
 * - `search`: up to 12,500 rows or 10,000 sealed keys are looked at where a filter asks for it. Such a call counts as twenty reads.
 * - `file`: a document or a whole table. Counted for each account too, and few are made at once in a process (`ground/places.ts`).
 * - `change`: one transaction; its policy is that of what is changed.
 */
export type CostKind = 'memory' | 'probe' | 'delivery' | 'visit' | 'rows' | 'search' | 'file' | 'change';

export interface Cost {
  kind: CostKind;
  /** Null: counted by no account, since none is known. */
  policy: Policy | null;
  /** Whether this call is one that looks at many rows. */
  searches?: Searches;
}

type Searches = (query: Readonly<Record<string, unknown>>, permissions: ReadonlySet<Permission>) => boolean;

/** How many reads a search counts as: 10,000 rows take some 10 ms of the database, a page 0.5. */
export const searchUnits = 20;

const memory: Cost = { kind: 'memory', policy: null };
const visit: Cost = { kind: 'visit', policy: null };
/** Of a payer or an operator: no account's limit counts it. */
const page: Cost = { kind: 'rows', policy: null };
const rows: Cost = { kind: 'rows', policy: 'reads' };
const file: Cost = { kind: 'file', policy: 'files' };
const change = (policy: Policy): Cost => ({ kind: 'change', policy });
const search = (searches: Searches): Cost => ({ kind: 'search', policy: 'reads', searches });

/** A filter that no index serves; those of `exact` lead to one row. */
const byAnyOf =
  (filters: readonly string[], exact: readonly string[] = []): Searches =>
  (query) =>
    filters.some((name) => query[name] !== undefined) && !exact.some((name) => query[name] !== undefined);

/** A key that may see one kind of payment alone is a filter too. */
const paymentSearch: Searches = (query, permissions) =>
  byAnyOf(['status', 'kind', 'paymentMethod', 'metadata'], ['requestKey', 'endToEnd'])(query, permissions) ||
  !permissions.has('read');

/** Calls that API and panel have in common, below `/api/v1/public` and `/panel/api/accounts/:account`. */
const shared: Readonly<Record<string, Cost>> = {
  'POST /pix/charges': change('charges'),
  'POST /pix/due-charges': change('charges'),
  'PATCH /pix/due-charges/:id': change('charges'),
  'POST /payments/:id/cancel': change('charges'),
  'POST /payment-links': change('charges'),
  'GET /payment-links': rows,
  'GET /payment-links/:id': rows,
  'PATCH /payment-links/:id': change('charges'),
  'GET /payment-links/:id/payments': rows,
  'POST /static-codes': change('charges'),
  'GET /static-codes': rows,
  'GET /static-codes/:id': rows,
  'PATCH /static-codes/:id': change('charges'),
  'GET /static-codes/:id/payments': rows,
  'GET /payments': search(paymentSearch),
  'GET /payments/:id': rows,
  'GET /account': rows,
  'GET /operations': rows,
  'POST /operations': change('operations'),
  'PATCH /operations/:id': change('operations'),
  'DELETE /operations/:id': change('operations'),
  'GET /webhooks': rows,
  'GET /webhooks/event-types': { kind: 'memory', policy: 'reads' },
  'POST /webhooks': change('webhooks'),
  'GET /webhooks/:id': rows,
  'PATCH /webhooks/:id': change('webhooks'),
  'DELETE /webhooks/:id': change('webhooks'),
  'POST /webhooks/:id/rotate-secret': change('webhooks'),
  'POST /webhooks/:id/replay': change('webhooks'),
  'POST /webhooks/:id/test': change('webhooks'),
  'GET /webhooks/:id/deliveries': search(byAnyOf(['status'], ['eventId'])),
  'GET /webhooks/:id/deliveries/:deliveryId': rows,
  'POST /webhooks/:id/deliveries/:deliveryId/retry': change('webhooks'),
  'GET /events': search(byAnyOf(['type', 'paymentId'])),
  'GET /events/stream': rows,
  'GET /events/:id': rows,
};

/** Of the public API alone. */
const publicCalls: Readonly<Record<string, Cost>> = {
  ...shared,
  'POST /pix/transfers': change('transfers'),
  'POST /pix/transfers/:id/confirm': change('transfers'),
  'POST /pix/transfers/:id/cancel': change('transfers'),
  'POST /payments/:id/refunds': change('transfers'),
  'GET /payments/:id/refunds': rows,
  'GET /refunds/:id': rows,
  'POST /card/checkouts': change('charges'),
  'POST /card/checkouts/:id/expire': change('charges'),
  'GET /disputes': rows,
  'GET /disputes/:id': rows,
  'GET /disputes/:id/defence': rows,
  'POST /disputes/:id/defence': change('operations'),
  'POST /disputes/:id/files': change('operations'),
  'DELETE /disputes/:id/files/:fileId': change('operations'),
  'GET /statement': rows,
  'GET /statement.csv': file,
  'GET /statement.ofx': file,
  'GET /statement.pdf': file,
  'GET /static-codes/:id/poster.pdf': file,
  'GET /openapi.json': memory,
};

/** The simulator's acts for a test account, of the API and in the panel. */
const testCalls: Readonly<Record<string, Cost>> = {
  ...Object.fromEntries(
    ['pay', 'expire', 'remove', 'refuse', 'return', 'complete', 'dispute'].map((act) => [
      `POST /payments/:id/${act}`,
      change('charges'),
    ]),
  ),
  ...Object.fromEntries(
    ['defend', 'accept', 'reject', 'cancel'].map((act) => [`POST /disputes/:id/${act}`, change('charges')]),
  ),
  'GET /clock': rows,
  'POST /clock': change('charges'),
  'POST /clock/advance': change('charges'),
  'POST /reset': change('resets'),
};

/** Routes that only people have. */
const peopleCalls: Readonly<Record<string, Cost>> = {
  ...shared,
  'GET /overview': rows,
  'GET /records': search(byAnyOf(['search', 'status', 'minimumCents', 'maximumCents'])),
  'GET /records/:id': rows,
  'GET /records.csv': file,
  'POST /records/:id/query': change('operations'),
  'GET /records/:id/refunds': rows,
  'POST /records/:id/refunds': change('transfers'),
  'GET /payment-links/:id/records': rows,
  'GET /payment-links/:id/records.csv': file,
  'GET /static-codes/:id/records': rows,
  'GET /static-codes/:id/records.csv': file,
  'GET /records/:id/receipt.pdf': file,
  'GET /records/:id/refunds/:refund/receipt.pdf': file,
  'POST /drafts': change('transfers'),
  'POST /drafts/:id/receiver': change('transfers'),
  'POST /drafts/:id/confirm': change('transfers'),
  'POST /drafts/:id/cancel': change('transfers'),
  'POST /drafts/:id/resend': change('transfers'),
  'GET /receivers': rows,
  'POST /receivers': change('operations'),
  'POST /receivers/:id/remove': change('operations'),
  'GET /operation-disputes': rows,
  'GET /operation-disputes/:id/defence': rows,
  'POST /operation-disputes/:id/defence': change('operations'),
  'POST /operation-disputes/:id/files': change('operations'),
  'DELETE /operation-disputes/:id/files/:fileId': change('operations'),
  'GET /operations.csv': file,
  'GET /webhooks/:id/deliveries.csv': file,
  'GET /events.csv': file,
  'GET /keys': rows,
  'POST /keys': change('operations'),
  'PATCH /keys/:id': change('operations'),
  'DELETE /keys/:id': change('operations'),
  'POST /keys/:id/roll': change('operations'),
  'GET /keys.csv': file,
  'GET /reconciliation': rows,
  'GET /mail-choice': rows,
  'POST /mail-choice': change('operations'),
  'GET /odd-money': rows,
  'POST /odd-money/:id/acts': change('operations'),
  'POST /odd-money/:id/decision': change('transfers'),
  'GET /requests': search(byAnyOf(['method', 'status', 'keyId', 'requestId'], ['paymentId'])),
  'GET /requests.csv': file,
  'GET /merchant-profile': rows,
  'POST /merchant-profile': change('operations'),
  'POST /merchant-profile/logo': change('operations'),
  'POST /merchant-profile/logo/remove': change('operations'),
  'GET /merchant-profile/logo.png': rows,
  'GET /members': rows,
  'PUT /members/second-factor': change('operations'),
  'POST /members/invitations': change('operations'),
  'DELETE /members/invitations/:id': change('operations'),
  'PATCH /members/:id': change('operations'),
  'DELETE /members/:id': change('operations'),
  'GET /members/:id/sessions': rows,
  'POST /members/:id/end-sessions': change('operations'),
  'GET /members.csv': file,
  // The first page sums its period up, of up to 50,000 journals.
  'GET /statement': search(
    (query, permissions) =>
      query.below === undefined || byAnyOf(['figure', 'search', 'amountCents'])(query, permissions),
  ),
  'GET /statement.csv': file,
  'GET /statement.ofx': file,
  'GET /statement.pdf': file,
  'GET /security-events': search(() => true),
  'GET /support': rows,
  'POST /support/grant': change('operations'),
  'POST /support/end': change('operations'),
  'GET /security-events.csv': file,
  'GET /journal': rows,
  'GET /journal.csv': file,
  'GET /closes': rows,
  'GET /closes.csv': file,
  'GET /closes.pdf': file,
  'GET /incidents.csv': file,
  'GET /updates': rows,
};

/** Of a person, in no account. */
const personCalls: readonly string[] = [
  'GET /auth/*',
  'POST /auth/*',
  'GET /session',
  'GET /sessions',
  'POST /sessions/end-others',
  'POST /sessions/end-all',
  'DELETE /sessions/:id',
  'PATCH /profile',
  'POST /reauthenticate',
  'POST /email',
  'POST /email/confirm',
  'POST /email/cancel',
  'POST /invitations/look',
  'POST /invitations/accept',
  'GET /mailbox',
];

/** Of an operator; counted by network, and guesses of a sign-in by their own attempts. */
const operatorCalls: Readonly<Record<string, Cost>> = {
  'POST /sign-in': visit,
  'POST /enrolment/look': visit,
  'POST /enrolment/app': visit,
  'POST /enrolment/accept': visit,
  'GET /sign-in': visit,
  // Each asks the provider of the installation, and is counted by network before.
  'POST /sign-in/oidc': visit,
  'POST /sign-in/oidc/answer': visit,
  'POST /sign-in/oidc/factor': visit,
  'POST /sign-in/passkey/options': visit,
  'POST /sign-in/passkey': visit,
  'GET /session': visit,
  'POST /sign-out': visit,
  'GET /factors': page,
  'POST /factors/proof/options': { kind: 'change', policy: null },
  'POST /factors/proof': { kind: 'change', policy: null },
  'POST /factors/passkeys/options': { kind: 'change', policy: null },
  'POST /factors/passkeys': { kind: 'change', policy: null },
  'POST /factors/passkeys/:id/removal': { kind: 'change', policy: null },
  'POST /factors/oidc': { kind: 'change', policy: null },
  'POST /factors/oidc/answer': { kind: 'change', policy: null },
  'POST /factors/oidc/removal': { kind: 'change', policy: null },
  'GET /views': page,
  'POST /views': { kind: 'change', policy: null },
  'POST /views/:slot/removal': { kind: 'change', policy: null },
  'GET /worklist': page,
  'GET /worklist.csv': page,
  'POST /worklist/claims': { kind: 'change', policy: null },
  'POST /worklist/claims/removal': { kind: 'change', policy: null },
  // A text that is no identifier is looked for in the name of every account, and in nothing else.
  'GET /find': page,
  'GET /accounts/:id': page,
  'GET /payments/:id': page,
  'GET /payments/:id/evidence': page,
  'POST /payments/:id/personal-data': { kind: 'change', policy: null },
  'GET /incidents/:id': page,
  'POST /incidents/:id/acts': { kind: 'change', policy: null },
  'POST /incidents/:id/resolution': { kind: 'change', policy: null },
  'POST /incidents/:id/keep': { kind: 'change', policy: null },
  'POST /withdrawals/pause': { kind: 'change', policy: null },
  'POST /withdrawals/resume': { kind: 'change', policy: null },
  'POST /accounts/:id/view': { kind: 'change', policy: null },
  'POST /view/end': { kind: 'change', policy: null },
  'GET /notice': page,
  'POST /notice': { kind: 'change', policy: null },
  'POST /notice/end': { kind: 'change', policy: null },
  'GET /requests': page,
  'GET /requests.csv': page,
  'POST /requests/:id/agreement': { kind: 'change', policy: null },
  'POST /requests/:id/refusal': { kind: 'change', policy: null },
  'POST /requests/:id/taking-up': { kind: 'change', policy: null },
  'POST /requests/:id/sight': { kind: 'change', policy: null },
  'GET /operations/:id/holds': page,
  'GET /operations/:id/disputes/:disputeId/defence': page,
  'POST /operations/:id/disputes/:disputeId/defence/acts': { kind: 'change', policy: null },
  'POST /operations/:id/disputes/:disputeId/defence': { kind: 'change', policy: null },
  'POST /operations/:id/disputes/:disputeId/files': { kind: 'change', policy: null },
  'POST /operations/:id/disputes/:disputeId/files/:fileId/removal': { kind: 'change', policy: null },
  'GET /audit': page,
  'GET /audit.csv': page,
  'GET /audit/own': page,
  'GET /audit/own.csv': page,
  'POST /payments/:id/return/acts': { kind: 'change', policy: null },
  'POST /payments/:id/return': { kind: 'change', policy: null },
  'POST /operations/:id/holds/acts': { kind: 'change', policy: null },
  'POST /operations/:id/holds': { kind: 'change', policy: null },
  'POST /holds/:id/acts': { kind: 'change', policy: null },
  'POST /holds/:id/release': { kind: 'change', policy: null },
  'POST /accounts/:id/odd-money/acts': { kind: 'change', policy: null },
  'POST /accounts/:id/odd-money': { kind: 'change', policy: null },
  'GET /operators': page,
  'GET /operators.csv': page,
  'POST /operators/changes': { kind: 'change', policy: null },
  'GET /connections': page,
  'GET /connections.csv': page,
  'GET /connections/:name': page,
  // A worker calls the provider, once a minute at most.
  'POST /connections/:name/examination': { kind: 'change', policy: null },
  'GET /connections/:name/money': page,
  // Read once in ten seconds, however many look.
  'GET /processes': page,
  'GET /closes': page,
  'GET /closes.csv': page,
  'GET /closes/:day': page,
  'GET /closes/:day/operations': page,
  'GET /closes/:day/operations.csv': page,
  ...Object.fromEntries(
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method) =>
      ['', '/*'].map((path) => [`${method} ${path}`, visit]),
    ),
  ),
};

const below = (prefix: string, calls: Readonly<Record<string, Cost>>): Record<string, Cost> =>
  Object.fromEntries(
    Object.entries(calls).map(([call, cost]) => {
      const [method, path] = call.split(' ');
      return [`${method} ${prefix}${path}`, cost];
    }),
  );

export const costs: Readonly<Record<string, Cost>> = {
  'GET /healthz': memory,
  'GET /readyz': { kind: 'probe', policy: null },
  'GET /docs': memory,
  'GET /docs/*': memory,
  'GET /llms.txt': memory,
  'GET /*': memory,
  'POST /hooks/providers/:connection/:token': { kind: 'delivery', policy: null },
  'POST /hooks/providers/:connection/withdrawals': { kind: 'delivery', policy: null },
  'POST /hooks/providers/:connection/:token/pix': { kind: 'delivery', policy: null },
  'GET /pay/style.css': memory,
  'GET /pay/page.js': memory,
  'GET /pay': memory,
  'GET /pay/*': memory,
  'GET /pay/:token': page,
  'POST /pay/:token': { kind: 'change', policy: null },
  'GET /pay/:token/back': page,
  'GET /pay/:token/logo.png': page,
  'GET /pay/:token/state': page,
  'GET /pay/:token/events': page,
  'GET /pay/:token/receipt.pdf': { kind: 'file', policy: null },
  // Counted by network, account and link before the act (`api/links/limits.ts`).
  'POST /pay/:token/charge': { kind: 'change', policy: null },
  ...below('/api/v1/public', publicCalls),
  ...below('/api/v1/test', testCalls),
  'GET /api/v1/test/openapi.json': memory,
  ...below('/panel/api', Object.fromEntries(personCalls.map((call) => [call, visit]))),
  'GET /panel/api/openapi.json': memory,
  ...below('/panel/api/accounts/:account', peopleCalls),
  ...below('/panel/api/accounts/:account/test', testCalls),
  ...below('/operator/api', operatorCalls),
};

/** @throws Error for a route that has no row: what it costs must be known before it is served */
export function costOf(method: string, url: string): Cost {
  const cost = costs[`${method === 'HEAD' ? 'GET' : method} ${url}`];
  if (!cost) throw new Error(`${method} ${url} has no cost in edge/costs.ts`);
  return cost;
}

/** How many calls of its policy this one counts as. */
export const unitsOf = ({ searches }: Cost, query: unknown, permissions: ReadonlySet<Permission>): number =>
  searches?.((query ?? {}) as Readonly<Record<string, unknown>>, permissions) ? searchUnits : 1;
