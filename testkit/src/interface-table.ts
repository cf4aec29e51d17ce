import { readFile, writeFile } from 'node:fs/promises';

/**
 * The interface, sentence by sentence, each with the tests that show it. `docs/interface-coverage.md` is written from here:
 * `node testkit/src/interface-table.ts --write`.
 */
export interface Sentence {
  /** Part and number in the interface. */
  part: string;
  says: string;
  /** `file`: tests of that file, by the text of their names. */
  shownBy: Readonly<Record<string, readonly string[]>>;
  /** Where nothing can be shown by a test. */
  remark?: string;
}

const transfers = 'server/test/payments/transfers.test.ts';
const charges = 'server/test/payments/charges.test.ts';
const operations = 'server/test/program/operations.test.ts';
const lookup = 'server/test/payments/lookup.test.ts';
const account = 'server/test/payments/account.test.ts';
const drafts = 'server/test/payments/drafts.test.ts';
const keys = 'server/test/program/keys.test.ts';
const permissions = 'server/test/http/permissions.test.ts';
const rules = 'server/test/payments/service-rules.test.ts';
const processes = 'server/test/program/processes.test.ts';
const fields = 'server/test/payments/fields.test.ts';
const http = 'server/test/http/http.test.ts';
const limits = 'server/test/http/http-rate-limit.test.ts';
const document = 'server/test/http/http-openapi.test.ts';
const client = 'proof/foreign/generated-client.test.ts';
const guide = 'server/test/http/guide.test.ts';
const conditions = 'server/test/payments/conditions.test.ts';
const holds = 'server/test/payments/holds.test.ts';
const webhooks = 'server/test/webhooks/webhooks.test.ts';
const deliveries = 'server/test/webhooks/webhooks-delivery.test.ts';
const signature = 'server/src/events/webhooks/sign.test.ts';
const schedule = 'server/src/money/intent.test.ts';
const state = 'server/src/money/state.test.ts';
const sends = 'server/test/settlement/settlement-sends.test.ts';
const docsBrowser = 'server/test/http/docs-browser.test.ts';
const errors = 'server/src/ground/errors.test.ts';

export const interfaceTable: readonly Sentence[] = [
  // ------------------------------------------------------------------------------------------------ 1. what it does
  {
    part: '1.1',
    says: 'An integration can create Pix charges, send Pix transfers automatically, and look up the state of each.',
    shownBy: { [client]: ['it makes a charge, sees it paid, and sends a transfer to its end'] },
  },
  {
    part: '1.2',
    says: 'An account holds up to 10 business operations; each has its own name, balance and history.',
    shownBy: {
      [operations]: ['the eleventh is refused, also when many come at once', 'a new operation is empty'],
      [lookup]: ['a payment of another operation or account, or one that does not exist, is the same 404'],
    },
  },
  {
    part: '1.2',
    says: 'One of them is the main operation.',
    shownBy: { [operations]: ['an account begins with one main operation'] },
  },
  {
    part: '1.2',
    says: 'Account conditions, API keys and webhooks are shared by all operations of the account.',
    shownBy: {
      [account]: ['balances are the operation’s, conditions the account’s'],
      [rules]: ['shares the keys of its account, and its payments go over the one connection of the account'],
      [webhooks]: ['filters: by type and by operation; a new operation is heard without one'],
    },
  },
  {
    part: '1.3',
    says: 'Creating a business operation moves no money; no sub-accounts are provisioned.',
    shownBy: {
      [rules]: ['is created, renamed and deleted without a word to the provider and without moving money'],
    },
  },
  {
    part: '1.3',
    says: "Balances are kept apart in the service's own ledger; new charges and withdrawals go through the provider's main account.",
    shownBy: {
      [transfers]: ['of one operation never covers another'],
      [rules]: ['shares the keys of its account, and its payments go over the one connection of the account'],
    },
  },
  {
    part: '1.4',
    says: 'A withdrawal only uses the balance of the selected operation; another operation never covers a shortfall.',
    shownBy: { [transfers]: ['of one operation never covers another'] },
  },
  {
    part: '1.4',
    says: 'Account-level withdrawal restrictions and platform-wide blocks apply to every operation.',
    shownBy: {
      [rules]: ['is free of what blocks another: withdrawal blocks and pauses stop all of them'],
      [conditions]: ['a pause stops every account, first sends included, and a resume lets them continue'],
    },
  },
  {
    part: '1.5',
    says: 'Charges and transfers are confirmed by the settlement provider and never by the caller; no call approves a Pix.',
    shownBy: {
      [charges]: ['is paid by the payer alone'],
      [transfers]: ['is decided by the provider alone'],
      [permissions]: ['every call of the document has its row', 'without a key the router opens nothing'],
    },
  },
  {
    part: '1.5',
    says: 'Looking up a status does not confirm anything and needs no e-mail code.',
    shownBy: { [rules]: ['is never confirmed by a caller: however often it is looked up or repeated'] },
  },
  {
    part: '1.6',
    says: "The provider's webhook is the first source of updates; after 5 seconds without one, authenticated queries are scheduled.",
    shownBy: {
      [charges]: ['that no webhook brings is fetched after five seconds, with no client active'],
      [schedule]: ['never brings a query earlier than five seconds after the last news'],
    },
  },
  {
    part: '1.6',
    says: 'Failures use increasing waits and a shared query limit.',
    shownBy: {
      [schedule]: ['never shrink while failing, whatever is drawn', 'are at most 5 s doubled per failure'],
      [rules]: ['leaves the shared limit to others when it is used up'],
    },
  },
  {
    part: '1.6',
    says: 'This follow-up runs with no client application active.',
    shownBy: { [charges]: ['that no webhook brings is fetched after five seconds, with no client active'] },
  },
  {
    part: '1.7',
    says: 'Write operations that create money movements carry a caller-generated UUID `requestKey`.',
    shownBy: { [fields]: ["...uuids('requestKey')"], [document]: ['bodies of requests are closed'] },
  },

  // --------------------------------------------------------------------------------------------------- 2. resources
  {
    part: '2.1',
    says: 'The eleven fields are always present, with their types; `feeCents`, `settledAt`, `paymentMethod`, `expiresAt` may be null.',
    shownBy: {
      [lookup]: ['with every field that is always there'],
      [document]: ['what the calls answer fits the document', 'every example fits its schema'],
      [guide]: ['every request on the page gets the answer that stands below it'],
    },
  },
  {
    part: '2.1',
    says: '`feeCents` is the fee recorded at creation; later fee changes do not alter an existing record.',
    shownBy: { [conditions]: ['a new fee is for new payments; those that exist keep theirs'] },
  },
  {
    part: '2.1',
    says: "`expiresAt` is the provider's deadline; null when it gives none; the service never invents one.",
    shownBy: {
      [state]: ['that stands without a deadline has none, and never expires by itself'],
      [charges]: ['expires by the word of the provider, and a late payment still counts'],
    },
  },
  {
    part: '2.1',
    says: '`copyPaste` and `qrCodeBase64` (a PNG data URL) when the provider supplies the code.',
    shownBy: {
      [charges]: [
        'carries a dynamic BR Code whose QR image says the same',
        'gives no code is pending without one',
      ],
      [lookup]: ['a code past its state is not shown, nor is one in a list'],
    },
  },
  {
    part: '2.1',
    says: '`endToEnd`, `paidAt`, `settledAt` may appear after settlement.',
    shownBy: { [lookup]: ['a code past its state is not shown, nor is one in a list'] },
  },
  {
    part: '2.1',
    says: '`notice` may be there.',
    shownBy: { [lookup]: ['a notice is in the language of the caller'] },
  },
  {
    part: '2.1',
    says: '`providerFeeCents` and `netAmountCents`: fee and net confirmed by processing; the fee is not to be deducted again.',
    shownBy: {
      [rules]: ['carries its fee and its net: the amount is both together, for charges and for transfers'],
    },
  },
  {
    part: '2.1',
    says: '`debitAmountCents` is the gross debit of a withdrawal, `expectedNetAmountCents` gross minus account fee, at least 1.',
    shownBy: {
      [lookup]: ['a transfer is shown with gross and expected net, and a cancelled one with its reason'],
      [rules]: [
        'below its fee, or outside the account’s narrower limits, is refused and leaves its key free',
      ],
    },
  },
  {
    part: '2.1, 2.2',
    says: '`checkoutUrl`, `releaseAt`, `cardSettlementStatus`, `card` (closed, with its six members) for cards.',
    shownBy: { [guide]: ['every error, field error, reason, state and field stands in'] },
    remark: 'In the schema; card checkout is not offered, so no payment carries them.',
  },
  {
    part: '2.3',
    says: 'The account summary has its twelve fields, with 1000 and 1000000 as the withdrawal limits.',
    shownBy: { [account]: ['a new account has the conditions of the interface'] },
  },
  {
    part: '2.3',
    says: "The available balance excludes reserved withdrawals, administrative holds and the service's margin.",
    shownBy: {
      [account]: ['the balance is what is available less what is owed, the reserve stands apart'],
      [holds]: ['a hold keeps back what is there, and gives it back'],
      [rules]: ['carries its fee and its net'],
    },
  },
  {
    part: '2.3',
    says: 'A balance can be momentarily stale until the provider is reconciled.',
    shownBy: { [charges]: ['that no webhook brings is fetched after five seconds, with no client active'] },
  },
  {
    part: '2.4',
    says: 'A business operation has id, name (2 to 64), isDefault, balanceCents, balanceUpdatedAt, createdAt.',
    shownBy: {
      [operations]: ['an account begins with one main operation'],
      [fields]: ['takes names of 2 and of 64 characters, trimmed and composed, and two of one name'],
    },
  },
  {
    part: '2.5',
    says: 'An error body has `statusCode`, an integer, and `message`, a string or an array of strings.',
    shownBy: {
      [errors]: ['a message is an array exactly for refused fields'],
      [http]: ['every wrong field has one message, in the order of the fields'],
    },
  },

  // ------------------------------------------------------------------------------------------------------ 3. states
  {
    part: '3',
    says: 'States: draft, unknown, pending, paid, completed, failed, expired, cancelled, with their meanings.',
    shownBy: {
      [state]: ['a draft', 'any sequence of reports'],
      [guide]: ['every error, field error, reason, state and field stands in'],
    },
  },
  {
    part: '3',
    says: '`unknown`: the same id is queried, and a new request with a new UUID is never made.',
    shownBy: {
      [transfers]: ['whose answer is lost is unknown, is queried, and is never sent again'],
      [sends]: [
        'whose owner died is taken over when its lease has ended, and is then queried, never sent at once',
      ],
    },
  },
  {
    part: '3',
    says: '(none) → POST /pix/charges → `pending` (with optional copyPaste and qrCodeBase64) or `unknown`.',
    shownBy: {
      [charges]: [
        'carries a dynamic BR Code',
        'leaves it unclear (%s) is unknown first, then pending with its code',
      ],
    },
  },
  {
    part: '3',
    says: '(none) → POST /pix/transfers → `pending`, `unknown` or `completed`; the gross is reserved atomically before sending.',
    shownBy: {
      [transfers]: ['sends the net, debits the gross', 'is never overdrawn, however many withdraw at once'],
      [processes]: ['a balance is never overdrawn by several processes together'],
    },
  },
  {
    part: '3',
    says: '`draft` → confirm or cancel, legacy drafts only.',
    shownBy: {
      [drafts]: [
        'confirming with the code from the mail sends it like any other transfer',
        'cancelling ends it without a movement, and it stays cancelled',
      ],
    },
  },
  {
    part: '3',
    says: 'transfer `pending` → `completed` by webhook event or status query, when the provider confirms.',
    shownBy: {
      [transfers]: [
        'keeps its reserve while the provider only has it, and is decided by the provider alone',
        'whose answer is lost is unknown, is queried, and is never sent again',
      ],
    },
  },
  {
    part: '3',
    says: 'A transfer refused or cancelled by the provider releases its reserve without a fee.',
    shownBy: {
      [transfers]: [
        'refused in the answer is a 400 that names the payment, costs nothing',
        'refused later gives the whole reserve back, without a fee',
      ],
    },
  },
  {
    part: '3',
    says: 'A `pending` or `unknown` transfer keeps its reserve until reconciliation.',
    shownBy: {
      [transfers]: [
        'that the provider never took (%s) keeps its reserve: not found releases nothing',
        'keeps its reserve while the provider only has it',
      ],
    },
  },

  // --------------------------------------------------------------------------------------------------- 4. endpoints
  {
    part: '4',
    says: 'All calls send `Authorization: Bearer` and may send `X-Service-Operation` (uuid). Bodies are JSON.',
    shownBy: {
      [permissions]: ['a key that is missing, malformed, unknown, revoked or expired opens nothing'],
      [fields]: ['is one UUID in any case and of any version, or 400'],
      [http]: ['a body that is no JSON object is malformed_json with one message', 'is 415'],
    },
  },
  {
    part: '4.1',
    says: 'POST /pix/transfers requires `transfers`; no e-mail code and no confirmation call; unknown properties are not allowed.',
    shownBy: {
      [permissions]: ['each set of permissions opens exactly the calls that need one of them'],
      [transfers]: ['sends the net, debits the gross, and is completed by the provider'],
      [fields]: ["['code', '123456', { code: 'unknown_property' }]"],
    },
  },
  {
    part: '4.1',
    says: 'amountCents 1000 to 1000000, pixKey 3 to 150, pixKeyType of five, description at most 80, requestKey a UUID; all required.',
    shownBy: {
      [fields]: ["...cents('amountCents', 1000, 1_000_000)", "...text('description', 0, 80, false)"],
    },
  },
  {
    part: '4.1',
    says: 'Key format by type: CPF and CNPJ digits only; PHONE starts with `+`; RANDOM is a UUID.',
    shownBy: { [fields]: ['to the %s %s is handed on as %s'] },
  },
  {
    part: '4.1',
    says: '201 with debitAmountCents and expectedNetAmountCents; status is to be read as pending, unknown or completed.',
    shownBy: { [transfers]: ['sends the net, debits the gross, and is completed by the provider'] },
  },
  {
    part: '4.1.1',
    says: 'Repeating identical data with the same `requestKey` neither reserves nor sends again.',
    shownBy: {
      [transfers]: [
        'repeated with the same data returns the same payment and neither reserves nor sends again',
        'sent fifty times at once makes one payment, one reserve and one send',
      ],
      [processes]: ['one request key in three processes is one transfer, one reserve and one send'],
    },
  },
  {
    part: '4.1.2',
    says: 'The gross amount is reserved before sending.',
    shownBy: { [transfers]: ['keeps its reserve while the provider only has it'] },
  },
  {
    part: '4.1.3',
    says: 'A `requestKey` used for a draft with a code cannot be reused for an automatic transfer.',
    shownBy: { [drafts]: ['a request key of a draft is no automatic transfer’s, nor anything else’s'] },
  },
  {
    part: '4.1.4',
    says: 'A `requestKey` is unique per account and is not reusable in another business operation.',
    shownBy: {
      [transfers]: [
        'repeated with other data, as a charge, or in another operation is refused and changes nothing',
      ],
      [processes]: ['one request key for a charge, a transfer and an operation at once is one of them'],
    },
  },
  {
    part: '4.1.5',
    says: 'On timeout or `unknown` the Pix may have been sent: keep the same `requestKey` and query the same operation.',
    shownBy: {
      [transfers]: ['whose answer is lost is unknown, is queried, and is never sent again'],
      [lookup]: ['a request key finds its payment in the selected operation, and nothing elsewhere'],
    },
  },
  {
    part: '4.1.6',
    says: 'The default withdrawal fee is 0% plus 25 cents: of 1000 the debit is 1000 and the expected net 975.',
    shownBy: {
      [transfers]: ['sends the net, debits the gross, and is completed by the provider'],
      [rules]: ['carries its fee and its net'],
    },
  },
  {
    part: '4.2',
    says: 'POST /pix/charges: amountCents 200 to 200000, payerName 2 to 100, description up to 200 and may be empty, requestKey required.',
    shownBy: { [fields]: ["...cents('amountCents', 200, 200_000)", "...text('payerName', 2, 100, true)"] },
  },
  {
    part: '4.2',
    says: 'A `paymentMethod` of `pix`; a `pending` charge may carry `copyPaste` and `qrCodeBase64`, both optional.',
    shownBy: { [charges]: ['carries a dynamic BR Code', 'gives no code is pending without one'] },
  },
  {
    part: '4.2',
    says: 'The same request with the same key returns the same operation; with another amount or other data an error.',
    shownBy: {
      [charges]: ['repeated with the same key returns the same code; with other data it is refused'],
      [rules]: ['repeated late shows what it has become, with the status of its first answer'],
    },
  },
  {
    part: '4.3',
    says: 'GET /payments/{id}: one payment of the account, scoped to the selected operation; unknown id gives 404.',
    shownBy: {
      [lookup]: ['a payment of another operation or account, or one that does not exist, is the same 404'],
    },
  },
  {
    part: '4.3',
    says: 'It returns the last reconciled state and also tries to refresh it when its status query is overdue.',
    shownBy: {
      [rules]: [
        'queries the provider when its next query is overdue, once for any number of lookups',
        'sends no query before it is due, and lists never send one',
        'never fails for the provider (%s)',
        'waits two seconds for a provider that never answers',
      ],
    },
  },
  {
    part: '4.4',
    says: 'GET /payments returns up to 100 recent operations of the selected business operation.',
    shownBy: {
      [lookup]: [
        'without parameters the list is the hundred newest of the operation',
        'filters narrow the list, together',
        'pages follow each other without gap or repeat',
      ],
    },
  },
  {
    part: '4.5',
    says: 'GET /account returns the account summary for the selected business operation.',
    shownBy: { [account]: ['balances are the operation’s, conditions the account’s'] },
  },
  {
    part: '4.6',
    says: 'GET /operations requires `read` and returns ownerId (stable when the main operation changes), limit 10, operations.',
    shownBy: {
      [operations]: ['an account begins with one main operation'],
      [permissions]: ['each set of permissions opens exactly the calls that need one of them'],
    },
  },
  {
    part: '4.7',
    says: 'POST /operations requires `operations`; repeating the same creation prevents duplicates, even after a rename.',
    shownBy: {
      [operations]: ['a repeat creates nothing, also after a rename, in other case and many at once'],
      [processes]: ['renamed in one process and repeated in another, a creation returns the same operation'],
    },
  },
  {
    part: '4.7',
    says: 'Creation when 10 operations exist returns 400, also for concurrent calls.',
    shownBy: {
      [operations]: ['the eleventh is refused, also when many come at once'],
      [processes]: ['ten operations and no eleventh, however many processes create at once'],
    },
  },
  {
    part: '4.7',
    says: 'A `requestKey` of an operation that was deleted cannot be reused to recreate it.',
    shownBy: {
      [operations]: ['a deleted operation cannot be renamed, selected or created again by its key'],
    },
  },
  {
    part: '4.8',
    says: 'PATCH leaves balance, payments and identifier unchanged; a deleted operation gives 404.',
    shownBy: {
      [operations]: [
        'renaming changes the name and nothing else',
        'a deleted operation cannot be renamed, selected or created again by its key',
      ],
    },
  },
  {
    part: '4.9',
    says: 'DELETE with `{}` is 200 `{ok: true}`.',
    shownBy: { [operations]: ['deletion takes an empty object, no body, and an empty one'] },
  },
  {
    part: '4.9.1',
    says: 'At least one operation always remains, for concurrent calls too.',
    shownBy: {
      [operations]: ['the last operation stays, also when all are deleted at once'],
      [processes]: ['one operation is left, whichever processes delete all of them at once'],
    },
  },
  {
    part: '4.9.2',
    says: 'Deletion is blocked by a balance, an administrative hold, unfinished payments or withdrawals; it requires confirmed zero.',
    shownBy: {
      [operations]: [
        'a balance blocks deletion, a hold by itself as well',
        'a reserve, an intent, a draft and an open incident block deletion',
        'after a restore a zero is not confirmed until the provider was compared',
      ],
      [rules]: ['with a charge that waits or a transfer under way stays, and goes when both have ended'],
      [drafts]: ['a draft blocks the deletion of its operation until it has ended'],
      [holds]: ['an open hold blocks the deletion, also of an empty operation'],
    },
  },
  {
    part: '4.9.2',
    says: 'The blocks apply to concurrent calls too.',
    shownBy: {
      [processes]: [
        'a charge and the deletion of its operation at once: either it was deleted or it is charged',
        'a transfer and the deletion of its operation at once never lose the money between them',
      ],
    },
  },
  {
    part: '4.9.3',
    says: 'If the local balance differs from the sum of immutable ledger entries, deletion is blocked with 503.',
    shownBy: {
      [operations]: [
        'a balance that differs from its journals blocks deletion with 503',
        'a hidden divergence is found: the columns are zero and the journals are not',
      ],
    },
  },
  {
    part: '4.9.4',
    says: 'When the main operation is deleted, the oldest remaining becomes main, and calls without the header use it.',
    shownBy: {
      [operations]: ['when the main operation goes, the oldest takes over for calls without the header'],
      [processes]: ['deleted in two processes at once, the main operation hands over once, to the oldest'],
    },
  },
  {
    part: '4.9.5',
    says: 'Deletion frees one slot of the 10.',
    shownBy: { [operations]: ['and deletion frees its place'] },
  },
  {
    part: '4.9.6',
    says: 'Repeating the deletion of the same id succeeds and removes nothing else.',
    shownBy: {
      [operations]: ['deleting again succeeds and removes nothing else, also under its own header'],
    },
  },
  {
    part: '4.9.7',
    says: 'A deleted operation disappears from the list, its records are kept; renaming, selecting or paying in it is 404.',
    shownBy: { [rules]: ['that was deleted takes no payment, shows none, and keeps its records'] },
  },
  {
    part: '4.10',
    says: 'Confirm and cancel exist only for drafts in state `draft`, and are not part of the automatic flow.',
    shownBy: {
      [drafts]: [
        'a draft is known in its own operation and account only',
        'confirming with the code from the mail sends it like any other transfer',
      ],
      [document]: ['confirming and cancelling a draft are marked as deprecated, and nothing else is'],
    },
  },
  {
    part: '4.11',
    says: 'Webhook management.',
    shownBy: { [webhooks]: ['an endpoint is created once per request key, and its secret is shown once'] },
    remark: 'Card checkout is not specified by the interface and not offered.',
  },

  // ---------------------------------------------------------------------------------------------- 5. authentication
  {
    part: '5.1',
    says: 'HTTP bearer; the key is displayed once when created, and never in browser code.',
    shownBy: {
      [keys]: [
        'the key itself is stored nowhere',
        'without a key, or with the key elsewhere than in the header',
      ],
      [http]: ['OPTIONS is 204 with Allow and never allows another origin'],
    },
  },
  {
    part: '5.2',
    says: 'A key has a name and a set of permissions; existing keys do not gain `operations` automatically.',
    shownBy: {
      [keys]: ['a key needs a name, a permission and an account'],
      [permissions]: ['each set of permissions opens exactly the calls that need one of them'],
    },
  },
  {
    part: '5.3',
    says: '`GET /operations` needs read; writes of operations need operations; `POST /pix/transfers` needs transfers.',
    shownBy: { [permissions]: ['each set of permissions opens exactly the calls that need one of them'] },
  },
  {
    part: '5.6',
    says: 'Missing, invalid or revoked key gives 401. Insufficient permission gives 403.',
    shownBy: {
      [permissions]: ['a key that is missing, malformed, unknown, revoked or expired opens nothing'],
      [keys]: ['a revoked key is refused everywhere within a second'],
      [processes]: ['a key revoked on the command line sends no more money anywhere, at once'],
    },
  },
  {
    part: '5.7',
    says: '`X-Service-Operation`: without it the main operation; an invalid UUID gives 400; outside the account 404.',
    shownBy: {
      [account]: ['the header names an operation of the account, or nothing is shown'],
      [fields]: ['is one UUID in any case and of any version, or 400'],
      [permissions]: ['an id of another account is 404, the same as an id that does not exist'],
    },
  },
  {
    part: '5.8',
    says: 'API keys, webhooks and account conditions are shared across the operations of an account.',
    shownBy: {
      [rules]: ['shares the keys of its account, and its payments go over the one connection of the account'],
    },
  },
  {
    part: '5.9',
    says: 'Lifetime and rotation of keys.',
    shownBy: {
      [keys]: [
        'a key with a life expires after it, and one without never does',
        'a rolled key stays valid for its overlap beside the new one, then it is 401 api_key_expired',
        'a key with a list of addresses is 403 ip_not_allowed from elsewhere',
        'a key that may send money rests after 180 days without use',
        'a mail reports a key without use for 90 days once',
      ],
    },
  },
  {
    part: '5.10',
    says: 'E-mail confirmation of the transfer page is independent of API-key authorization.',
    shownBy: { [drafts]: ['a code is good for ten minutes and for its own draft'] },
  },

  // ------------------------------------------------------------------------------------------------------ 6. events
  {
    part: '6.1–6.9',
    says: 'Signed webhooks; `transfer.completed`; the operation at `data.operationId`; the rest as decided.',
    shownBy: {
      [webhooks]: [
        'a paid charge and a completed transfer arrive signed, with the operation at data.operationId',
      ],
      [signature]: ['the public verifier takes what either of two secrets signed, and nothing else'],
      [deliveries]: ['a receiver that fails gets the same id and the same bytes again, signed anew'],
      [document]: ['the webhooks section has every event, with data.operationId in each'],
    },
  },

  // ------------------------------------------------------------------------------------------------------ 7. errors
  {
    part: '7',
    says: '400: invalid data.',
    shownBy: {
      [fields]: ['function check'],
      [http]: ['every wrong field has one message, in the order of the fields'],
    },
  },
  {
    part: '7',
    says: '400: idempotency conflict.',
    shownBy: { [transfers]: ['repeated with other data, as a charge, or in another operation is refused'] },
  },
  {
    part: '7',
    says: '400: invalid `X-Service-Operation` UUID; creating an 11th business operation.',
    shownBy: {
      [fields]: ['is one UUID in any case and of any version, or 400'],
      [operations]: ['the eleventh is refused'],
    },
  },
  {
    part: '7',
    says: '401, 403: key missing, invalid or revoked; insufficient permission.',
    shownBy: { [permissions]: ['each set of permissions', 'a key that is missing, malformed'] },
  },
  {
    part: '7',
    says: '404: operation or payment not in this account; operation outside the account; deleted operation.',
    shownBy: {
      [lookup]: ['is the same 404'],
      [rules]: ['that was deleted takes no payment, shows none, and keeps its records'],
    },
  },
  {
    part: '7',
    says: '429: temporary request rate limit.',
    shownBy: {
      [limits]: [
        'a burst is allowed, the next is 429 and says when',
        'processes over one database count together',
      ],
      [processes]: ['two processes limit together: a key that floods both has its quota once'],
      [rules]: ['a limited request uses no request key up'],
    },
  },
  {
    part: '7',
    says: '503: processing unavailable; ledger divergence blocks deletion.',
    shownBy: {
      [rules]: ['with an open breaker creations are 503 before anything is written, repeats and reads work'],
      [http]: ['a creation that fails unexpectedly is 503'],
      [operations]: ['a balance that differs from its journals blocks deletion with 503'],
    },
  },
  {
    part: '7',
    says: 'Machine-readable codes beside `statusCode` and `message`.',
    shownBy: {
      [errors]: ['every error has a status of the closed set and a message in both languages'],
      [document]: ['every error status of the catalogue has an example of each of its codes'],
      [guide]: ['every code of the catalogue stands beside its status'],
    },
  },

  // ------------------------------------------------------------------------------------------------------ 8. limits
  {
    part: '8',
    says: 'Both sides of every limit of the table: operations, names, amounts, keys, descriptions, payer names, list.',
    shownBy: {
      [fields]: [
        "describe('a charge'",
        "describe('a transfer'",
        "describe('a business operation'",
        'limit=101',
      ],
      [operations]: ['the eleventh is refused', 'the last operation stays'],
      [lookup]: ['without parameters the list is the hundred newest of the operation'],
    },
  },
  {
    part: '8',
    says: 'Card attemptsLeft 0 to 3, refusedReason at most 300.',
    shownBy: { [document]: ['every example fits its schema'] },
    remark: 'In the schema; card checkout is not offered.',
  },
  {
    part: '8',
    says: "5 seconds before the service's own status queries; backoff and shared limit as decided.",
    shownBy: {
      [schedule]: [
        'of a transfer grows to hours after a day, to six hours after a week, and never ends',
        'of a charge that waits for a payer is 5, 15, 30 s, 1, 2, 5 min, then 10 min, 30 min after an hour, and hourly after six',
      ],
      [rules]: ['leaves the shared limit to others when it is used up'],
    },
  },

  // -------------------------------------------------------------------------------------------------- 9. versioning
  {
    part: '9.1',
    says: 'Paths sit under the prefix `/api/v1/public`.',
    shownBy: { [http]: ['an unknown path is 404 route_not_found'], [client]: ['it makes a charge'] },
  },
  {
    part: '9.2',
    says: 'The published interface description is at version 1.1.0.',
    shownBy: {
      [document]: ['the document is version 1.1.0 in OpenAPI 3.1 and needs no key'],
      [docsBrowser]: ['a browser shows every call and event'],
    },
  },
  {
    part: '9.3',
    says: 'Deprecation and compatibility policy.',
    shownBy: {
      [drafts]: ["answer.headers.get('deprecation')"],
      [guide]: ['every call of the document stands on the page'],
    },
  },
];

export const coveragePage = new URL('../../docs/interface-coverage.md', import.meta.url);

export function renderCoverage(): string {
  const lines = [
    '# The interface, sentence by sentence',
    '',
    'Each sentence of the published interface 1.1.0 with the tests that show it. Written from `testkit/src/interface-table.ts`, and',
    'checked by `server/test/http/interface.test.ts`: every test that is named here exists.',
    '',
    '| Part | Says | Shown by |',
    '|---|---|---|',
  ];
  for (const { part, says, shownBy, remark } of interfaceTable) {
    const shown = Object.entries(shownBy).map(([file, names]) => {
      const name = file.replace(/^server\/(?:test|src)\//, '').replace(/\.test\.ts$/, '');
      return `[${name}](../${file}): ${names.map((one) => (/[('[]/.test(one[0] ?? '') || one.includes('(') ? `\`${one}\`` : one)).join('; ')}`;
    });
    const cells = [part, says, [...shown, ...(remark ? [`*${remark}*`] : [])].join('<br>')];
    lines.push(`| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
  }
  return `${lines.join('\n')}\n`;
}

if (import.meta.main && process.argv[2] === '--write') await writeFile(coveragePage, renderCoverage());

export const committedCoverage = (): Promise<string> => readFile(coveragePage, 'utf8');
