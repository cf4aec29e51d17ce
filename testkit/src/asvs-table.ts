import { readFile, writeFile } from 'node:fs/promises';
import { type Mutation, mutations } from '../../proof/asvs/mutations.ts';

/**
 * OWASP ASVS 5.0.0, levels 1 and 2, requirement by requirement (https://github.com/OWASP/ASVS, tag v5.0.0; ids as there, words our own).
 * `docs/security/asvs.md` is written from here: `node testkit/src/asvs-table.ts --write`.
 */
export interface Requirement {
  id: string;
  level: 1 | 2;
  asks: string;
  verdict:
    | { shown: readonly Mutation[] }
    | { reviewed: Named; because: string }
    | { notApplicable: string }
    | { notMet: string };
}

/** Files with titles of their tests, or with parts of them. */
type Named = Readonly<Record<string, readonly string[]>>;

/**
 * A requirement that is met as far as we know. Shown is it only where a mistake was planted that breaks it, and the named test failed
 * (`proof/asvs/mutations.ts`); everything else was read, and says what was looked at.
 */
function met(id: string, level: 1 | 2, asks: string, named: Named): Requirement {
  const planted = mutations.filter(({ ids }) => ids.includes(id));
  if (planted.length > 0) return { id, level, asks, verdict: { shown: planted } };
  const isDocument = Object.keys(named).every((file) => !file.endsWith('.test.ts'));
  const because =
    reasons[id] ??
    (isDocument ? 'it is written there' : 'these tests exercise it, and were not seen to fail without it');
  return { id, level, asks, verdict: { reviewed: named, because } };
}
const not = (id: string, level: 1 | 2, asks: string, why: string): Requirement => ({
  id,
  level,
  asks,
  verdict: { notMet: why },
});
const none = (id: string, level: 1 | 2, asks: string, why: string): Requirement => ({
  id,
  level,
  asks,
  verdict: { notApplicable: why },
});

const access = 'proof/access/matrix.test.ts';
const panelAccess = 'proof/access/panel.test.ts';
const attacks = 'server/test/panel/panel-attacks.test.ts';
const backup = 'server/test/database/backup.test.ts';
const config = 'server/test/program/config.test.ts';
const csv = 'server/src/ground/csv.test.ts';
const docs = 'server/test/http/docs.test.ts';
const docsBrowser = 'server/test/http/docs-browser.test.ts';
const drafts = 'server/test/payments/drafts.test.ts';
const edges = 'server/test/http/edges.test.ts';
const embedded = 'server/test/database/embedded.test.ts';
const fields = 'server/test/payments/fields.test.ts';
const fuzz = 'proof/fuzz/api.test.ts';
const hostile = 'server/test/webhooks/webhooks-hostile.test.ts';
const http = 'server/test/http/http.test.ts';
const inbound = 'server/test/settlement/settlement-inbound.test.ts';
const keys = 'server/test/program/keys.test.ts';
const limits = 'server/test/http/http-rate-limit.test.ts';
const mail = 'server/test/panel/mail.test.ts';
const net = 'server/test/provider/net.test.ts';
const outages = 'server/test/database/database-trouble.test.ts';
const panel = 'server/test/panel/panel.test.ts';
const passwords = 'server/src/panel/people/password.test.ts';
const permissions = 'server/test/http/permissions.test.ts';
const processes = 'server/test/program/processes.test.ts';
const redact = 'server/src/edge/request-log/redact.test.ts';
const regular = 'proof/foreign/regular-expressions.test.ts';
const requestLog = 'server/test/http/request-log.test.ts';
const secrets = 'server/src/ground/secrets.test.ts';
const signIn = 'server/test/panel/panel-sign-in.test.ts';
const simulator = 'simulator/test/access.test.ts';
const start = 'server/test/program/start.test.ts';
const till = 'server/test/ledger/till.test.ts';
const webhooks = 'server/test/webhooks/webhooks.test.ts';
const cursor = 'server/src/ground/cursor.test.ts';
const ids = 'server/src/ports/ids.test.ts';
const mailAttacks = 'server/test/panel/mail-attacks.test.ts';
const panelBrowser = 'server/test/panel/panel-browser.test.ts';
const tillFailures = 'server/test/ledger/till-failures.test.ts';
const addresses = 'server/src/events/webhooks/address.test.ts';
const sdkSign = 'server/src/events/webhooks/sign.test.ts';
const model = 'docs/security/threat-model.md';
const operations = 'server/test/program/operations.test.ts';
const policy = 'SECURITY.md';
const ci = '.ci/run';
const guide = 'docs/merchants/guide.md';
const connections = 'server/test/program/connections.test.ts';
const disputes = 'server/test/settlement/disputes.test.ts';
const fileNames = 'server/src/panel/exports/file-name.test.ts';
const logo = 'server/src/panel/merchant/logo.test.ts';
const merchantPages = 'server/test/panel/panel-merchant.test.ts';
const evidence = 'server/test/settlement/dispute-files.test.ts';
const metrics = 'server/test/program/metrics.test.ts';
const refunds = 'server/test/payments/refunds.test.ts';
const sdkVerify = 'sdk/test/verify.test.ts';
const statements = 'server/test/payments/statement-api.test.ts';
const testMode = 'server/test/test-mode/simulate.test.ts';
const tracing = 'server/test/program/tracing.test.ts';

const unknownMember =
  'a member that the schema does not name is refused: state, owner, fee and prototype cannot be set from outside';
const verifier = 'the public verifier takes what either of two secrets signed, and nothing else';

const noXml = 'XML is neither read nor written.';
const logoIsPicture =
  'its logo is stored from its pixels, sent as nothing but a picture, and taken away again';
const logoUnpacked = 'that unpacks to a thousand times its size is unpacked no further than its head says';
const aTrace =
  'a transfer is one trace: request, wait for the till, call to the provider; the batch is a linked span';
const noIdp = 'There is no single sign-on: people sign in here alone.';
const noOAuthServer =
  'The service is no OAuth authorization server. It is a client with client credentials towards providers.';
const noOidc = 'OpenID Connect is not used.';
const noCodeFlow =
  'Only the grant `client_credentials` is used, towards providers: there is no browser in the flow.';
const noResourceServer =
  'API keys are opaque reference tokens of our own; OAuth access tokens are not accepted.';
const noWebSocket = 'There is no WebSocket: events come over server-sent events.';
const noWebRtc = 'There is no WebRTC.';
const noNative = 'The code is TypeScript in a memory-safe runtime.';
const noGraphql = 'There is no GraphQL or other query language for callers.';

/** The reviewed file, where the named tests alone would say too little. */
const reasons: Readonly<Record<string, string>> = {
  '1.2.1':
    'React and the JSON serializer encode; payers and names with markup were put into every page of the panel in a browser, and nothing ran',
  '1.4.3':
    '`main/server.ts`, `store/database/pool.ts` and `events/stream.ts` give every connection, statement and stream an end in time, and `edge/connection-shares.ts` each caller three tenths of the connections',
  '2.1.2': 'the guide says what a Pix key of each type looks like; the test checks the same rules',
  '3.2.2': 'React encodes text, and the panel sets HTML nowhere',
  '6.2.6': '`panel/src/pages/sign-in.tsx` uses a password field; no test reads its type',
  '6.2.7': 'no page handles paste, and the fields name `autocomplete`; no test pastes',
  '6.4.1':
    '`members.ts` makes 256 random bits and ends an invitation after seven days; the test shows that it is good once',
  '6.5.3':
    'mailed codes come from `ports/ids.ts`; secrets of the app and recovery codes are made by better-auth with the random source of the runtime',
  '7.2.2': 'better-auth makes the token, `auth-store.ts` stores its hash; the test lists and ends sessions',
  '7.2.3': 'better-auth makes 32 letters of the random source of the runtime, some 190 bits',
  '7.4.4': 'every page has the menu of the person in `panel/src`; no test opens it on each',
  '8.1.1': 'the table in the test is the document, one row for each route',
  '10.1.1':
    '`provider/oauth.ts` keeps the token in memory and gives it to the calls of its own provider alone',
  '11.2.1': 'all cryptography is that of Node, which is OpenSSL, and better-auth on top of it',
  '11.5.1': '`ports/ids.ts` and better-auth read the random source of the runtime and nothing else',
  '13.4.1':
    '`panel/site/assets.ts` serves the files of a list that is read at the start; `.git` was asked for by hand',
  '13.4.2': 'no setting switches on anything that answers more; errors have a catalogue',
  '13.4.3': '`panel/site/assets.ts` serves files of a list, and no folder; folders were asked for by hand',
  '15.2.2':
    '`edge/costs.ts` gives every route a cost and a policy; hashing, drawing and searching have places of their own in a process; calls wait for the database in a line for each account. No test keeps them all up under load',
  '16.2.2':
    'pino writes milliseconds since 1970, and `at` of security events is RFC 3339 in UTC; no test compares them',
  '16.2.4': 'every line is one JSON object of pino; no test parses them all',
  '16.3.4': '`edge/answers.ts` logs what no code names; the tests count retries',
  '16.4.1': 'pino writes JSON, in which a line end is escaped; no test sends one',
};

export const asvsTable: readonly Requirement[] = [
  // ------------------------------------------------------------------------------------------- 1. encoding, sanitization
  met('1.1.1', 2, 'Decode input once, before it is used', {
    [http]: ['a path that cannot be decoded is refused', 'lengths count code points after normalisation'],
  }),
  met('1.1.2', 2, 'Encode output last, for its interpreter', {
    [csv]: ['is text for every spreadsheet', 'quotes, separators and line ends are quoted'],
    [statements]: [
      'the table has every line, numbers as numbers and no formula',
      'two independent readers of OFX find the same lines, ids and balance',
    ],
  }),
  met('1.2.1', 1, 'Encode output for its context', {
    [http]: ['every answer names its request, is not stored and is JSON in UTF-8'],
    [docs]: ['the page needs no key, runs no inline script and names no outside address'],
  }),
  met('1.2.2', 1, 'Encode data in URLs and permit safe protocols only', {
    [webhooks]: ['what cannot be an endpoint is refused, field by field'],
  }),
  met('1.2.3', 1, 'Escape data in JavaScript and JSON', {
    [docs]: ['the page needs no key, runs no inline script and names no outside address'],
  }),
  met('1.2.4', 1, 'Query databases with parameters', {
    [fuzz]: ['noise in bodies and queries never breaks anything'],
  }),
  none(
    '1.2.5',
    1,
    'Protect from command injection',
    'No program is started with words from a request; children get fixed arguments and no shell.',
  ),
  none('1.2.6', 2, 'Protect from LDAP injection', 'LDAP is not used.'),
  none('1.2.7', 2, 'Protect from XPath injection', noXml),
  none('1.2.8', 2, 'Configure LaTeX safely', 'LaTeX is not used.'),
  met('1.2.9', 2, 'Escape text in regular expressions', {
    [regular]: ['no regular expression of %s needs more than linear steps'],
  }),
  none('1.3.1', 1, 'Sanitize HTML from editors', 'No HTML is taken.'),
  met('1.3.2', 1, 'Avoid dynamic code', {
    [docsBrowser]: [
      'a browser shows every call and event, sends no request to another host, and breaks no rule of the policy',
    ],
  }),
  met('1.3.3', 2, 'Clean data before dangerous contexts', {
    [csv]: ['is text for every spreadsheet'],
    [fields]: ['takes names of 2 and of 64 characters, trimmed and composed, and two of one name'],
  }),
  met('1.3.4', 2, 'Clean SVG of users', { [merchantPages]: [logoIsPicture] }),
  none('1.3.5', 2, 'Disable template and style languages of users', 'Text of users is shown as text alone.'),
  met('1.3.6', 2, 'Protect from server-side request forgery', {
    [hostile]: [
      'the address that was checked is the one connected to, under the name of the endpoint',
      'a name that answers public first and private later gets no second look-up',
    ],
    [addresses]: ['one address that is not allowed refuses the name'],
  }),
  none('1.3.7', 2, 'Protect from template injection', 'No template is built from input.'),
  none('1.3.8', 2, 'Protect from JNDI injection', 'JNDI does not exist here.'),
  none('1.3.9', 2, 'Clean data for memcache', 'memcache is not used.'),
  none('1.3.10', 2, 'Clean format strings', 'No format string comes from input.'),
  met('1.3.11', 2, 'Protect mail systems from injection', {
    [mailAttacks]: [
      'text of people begins no header and no second mail, in the file',
      'text of people begins no header, no command and no second mail, over SMTP',
    ],
  }),
  none('1.4.1', 2, 'Use memory-safe text and copies', noNative),
  met('1.4.2', 2, 'Prevent integer overflow', {
    [fuzz]: ['each broken constraint of each body is a 400, and nothing is an error of ours'],
    [fields]: ['1000.0 and 1e3 are the integer 1000'],
  }),
  met('1.4.3', 2, 'Release memory and resources', {
    'server/src/ground/places.test.ts': ['Work that fails gives its place back'],
    'server/src/ground/paper/papers.test.ts': [
      'An account draws three files at once and a fourth is refused; the file that is given up makes room',
    ],
    [edges]: ['of all callers are bounded for the process', 'of one caller have a share of the process'],
  }),
  none('1.5.1', 1, 'Configure XML parsers restrictively', noXml),
  met('1.5.2', 2, 'Deserialize safely', {
    [http]: ['a body that is no JSON object is malformed_json with one message'],
    [fields]: [unknownMember],
  }),

  // ------------------------------------------------------------------------------------------ 2. validation, business logic
  met('2.1.1', 1, 'Document the rules of input', {
    [guide]: ['### Fields of a payment', '## Limits'],
    'server/test/http/http-openapi.test.ts': [
      'every call names its permissions, the operation header and its errors',
    ],
  }),
  met('2.1.2', 2, 'Document how combined data must fit', { [http]: ['a Pix key has the form of its type'] }),
  met('2.1.3', 2, 'Document limits of the business', { [model]: ['## Limits'] }),
  met('2.2.1', 1, 'Validate input against what is allowed', {
    [fields]: [unknownMember, 'is one UUID in any case and of any version, or 400'],
    [fuzz]: ['each broken constraint of each body is a 400, and nothing is an error of ours'],
  }),
  met('2.2.2', 1, 'Validate on the server', {
    [http]: ['checks come in order: key, permission, header, operation, body'],
  }),
  met('2.2.3', 2, 'Check combinations of data', { [http]: ['a Pix key has the form of its type'] }),
  met('2.3.1', 1, 'Keep the order of steps', {
    [drafts]: [
      'confirming with the code from the mail sends it like any other transfer',
      'a code is good for ten minutes and for its own draft',
    ],
  }),
  met('2.3.2', 2, 'Enforce the limits of the business', {
    'server/test/payments/conditions.test.ts': [
      'a narrower limit and a disabled account refuse, and a repeat of what was accepted is still answered',
    ],
    'server/test/payments/holds.test.ts': ['holds and transfers at once never take the same cent'],
    [refunds]: [
      'more than the balance, more than the charge, nothing at all',
      'a Pix of more than 90 days ago',
    ],
  }),
  met('2.3.3', 2, 'Complete or roll back as a whole', {
    [till]: [
      'after a posting of the same command takes that posting back',
      'that would bring a column below zero is an error, and nothing of it is written',
    ],
    [tillFailures]: ['that is over when the lock is there at last: nothing of it is committed'],
  }),
  met('2.3.4', 2, 'Lock what may be spent once', {
    [processes]: ['one request key in three processes is one transfer, one reserve and one send'],
    [refunds]: ['asked for twice at once is admitted once'],
    [disputes]: [
      'holds with others of the same Pix no more than the Pix, and takes the place of one that ends',
    ],
  }),
  met('2.4.1', 2, 'Stop automated abuse', {
    [edges]: ['of one caller have a share of the process'],
  }),

  // ------------------------------------------------------------------------------------------------------ 3. web frontend
  met('3.2.1', 1, 'Keep browsers from rendering answers in a wrong context', {
    [edges]: ['every answer carries the headers that keep browsers from guessing, framing and telling'],
  }),
  met('3.2.2', 1, 'Show text as text', {
    [panelBrowser]: ['is found by a part of its payer, and exported safely'],
  }),
  met('3.3.1', 1, 'Cookies are Secure and named so', {
    [signIn]: ['behind a proxy with TLS is a __Host- cookie, and only the public origin may change anything'],
  }),
  met('3.3.2', 2, 'Cookies have SameSite', {
    [panel]: ['is a cookie that scripts cannot read and other sites do not send'],
  }),
  met('3.3.3', 2, 'Cookies have __Host-', {
    [signIn]: ['behind a proxy with TLS is a __Host- cookie, and only the public origin may change anything'],
  }),
  met('3.3.4', 2, 'Session cookies are HttpOnly', {
    [panel]: ['is a cookie that scripts cannot read and other sites do not send'],
  }),
  met('3.4.1', 1, 'HSTS of a year on every answer', {
    [edges]: ['where the public address is https, every answer demands TLS of browsers'],
  }),
  met('3.4.2', 1, 'No open CORS', { [http]: ['OPTIONS is 204 with Allow and never allows another origin'] }),
  met('3.4.3', 2, 'A content security policy', {
    [edges]: ['every answer carries the headers that keep browsers from guessing, framing and telling'],
  }),
  met('3.4.4', 2, 'nosniff on every answer', {
    [edges]: ['every answer carries the headers that keep browsers from guessing, framing and telling'],
  }),
  met('3.4.5', 2, 'A referrer policy', {
    [edges]: ['every answer carries the headers that keep browsers from guessing, framing and telling'],
  }),
  met('3.4.6', 2, 'frame-ancestors on every answer', {
    [edges]: ['every answer carries the headers that keep browsers from guessing, framing and telling'],
  }),
  met('3.5.1', 1, 'Check the origin of changes', {
    [panel]: ['changes nothing, with whatever cookies it comes', 'cannot sign any person in either'],
  }),
  none(
    '3.5.2',
    1,
    'Where CORS preflight protects, it cannot be avoided',
    'Preflight protects nothing here: origin and CSRF token do.',
  ),
  met('3.5.3', 1, 'Changes use POST, PUT, PATCH or DELETE', {
    [panel]: ['changes nothing, with whatever cookies it comes'],
    [permissions]: ['every call of the document has its row, with the permissions that the document names'],
  }),
  not(
    '3.5.4',
    2,
    'Separate applications have separate host names',
    'API and panel share one name by default; a proxy may divide them, and no test shows it.',
  ),
  none('3.5.5', 2, 'Check messages of postMessage', 'postMessage is not used.'),
  met('3.7.1', 2, 'Use supported client technologies', {
    [panelBrowser]: ['shows its QR code and turns to paid by itself', 'the console shows no error'],
  }),
  none('3.7.2', 2, 'Redirect to allowed places only', 'No call redirects.'),

  // ---------------------------------------------------------------------------------------------------- 4. API, web service
  met('4.1.1', 1, 'Content-Type fits the content, with charset', {
    [http]: ['every answer names its request, is not stored and is JSON in UTF-8'],
  }),
  met('4.1.2', 2, 'API calls are not redirected to HTTPS', {
    [http]: ['behind a trusted proxy a request that came without TLS is refused'],
  }),
  met('4.1.3', 2, 'Callers cannot set the headers of proxies', {
    [limits]: ['a forwarded header cannot switch the limit of failed keys off'],
    [edges]: ['stays closed to what came through a proxy, also with the token'],
  }),
  met('4.2.1', 2, 'Boundaries of messages are clear', {
    [http]: ['what is no HTTP gets a JSON error and the connection ends'],
  }),
  none('4.3.1', 2, 'Limit GraphQL queries', noGraphql),
  none('4.3.2', 2, 'Disable GraphQL introspection', noGraphql),
  none('4.4.1', 1, 'WebSockets over TLS', noWebSocket),
  none('4.4.2', 2, 'Check the origin of WebSockets', noWebSocket),
  none('4.4.3', 2, 'Tokens of WebSockets', noWebSocket),
  none('4.4.4', 2, 'Tokens of WebSockets come from the session', noWebSocket),

  // ----------------------------------------------------------------------------------------------------------- 5. files
  met('5.1.1', 2, 'Document permitted files', { [model]: ['## Files'] }),
  met('5.2.1', 1, 'Take no more than can be processed', {
    [http]: ['a body above 16 KiB is 413 and a URL above 4 KiB is 414'],
    [inbound]: ['of one enormous body is refused before it is stored'],
    [merchantPages]: [logoIsPicture],
    [evidence]: [
      'a file of 10 MiB is taken, and one byte more is not, whether its length is announced or not',
      'more files than a dispute or an account may keep, exactly, also at once',
    ],
  }),
  met('5.2.2', 1, 'Check type and content of files', {
    [evidence]: ['other types, contents of another type, names with a path, nothing at all'],
    [logo]: [
      'is stored as a new file of the same pixels',
      'loses everything that is not a pixel: text, profiles, what follows the end',
    ],
  }),
  met('5.2.3', 2, 'Check compressed files', { [logo]: [logoUnpacked] }),
  met('5.3.1', 1, 'Never execute uploaded files', { [merchantPages]: [logoIsPicture] }),
  met('5.3.2', 1, 'Build no path from input', {
    [panel]: ['gets the pages and nothing else'],
    [edges]: ['a path of slashes alone is answered, and not with 500'],
  }),
  met('5.4.1', 2, 'Ignore file names of users', {
    [fileNames]: ['a file is named after account, kind and period, in days of Brasília'],
  }),
  met('5.4.2', 2, 'Encode served file names', {
    [fileNames]: ['a name that leaves nothing for a header breaks none'],
  }),
  not(
    '5.4.3',
    2,
    'Scan files for malware',
    'Files of defences are taken and handed to the provider as they came; none is scanned. Of a logo nothing but the pixels is kept.',
  ),

  // --------------------------------------------------------------------------------------------------- 6. authentication
  met('6.1.1', 1, 'Document the defence against guessing', { [model]: ['## Guessing'] }),
  met('6.1.2', 2, 'Document words that passwords may not hold', { [model]: ['## Guessing'] }),
  met('6.1.3', 2, 'Document every way to sign in', { [model]: ['## Ways in'] }),
  met('6.2.1', 1, 'Passwords of at least 8 characters', {
    [signIn]: ['that is common, short or the person’s own address is not taken, at a change or a reset'],
  }),
  met('6.2.2', 1, 'People can change their password', {
    [signIn]: ['that is common, short or the person’s own address is not taken, at a change or a reset'],
  }),
  met('6.2.3', 1, 'A change needs the current password', {
    [signIn]: ['a session that was found open tries ten passwords at most'],
  }),
  met('6.2.4', 1, 'Refuse 3,000 common passwords', {
    [passwords]: ['at least 3,000 breached passwords that the length would allow are refused'],
  }),
  met('6.2.5', 1, 'No rules of composition', { [passwords]: ['%s is taken'] }),
  met('6.2.6', 1, 'Password fields are masked', {
    'server/test/panel/panel-people-browser.test.ts': ['a person signs in, and a refusal is read out'],
  }),
  met('6.2.7', 1, 'Pasting and password managers work', {
    'server/test/panel/panel-people-browser.test.ts': ['a person signs in, and a refusal is read out'],
  }),
  met('6.2.8', 1, 'Passwords are verified as given', {
    [passwords]: ['a hash fits its own password only, and says how it was made'],
  }),
  met('6.2.9', 2, '64 characters are permitted', {
    [edges]: ['above 128 characters is refused before its text is looked at'],
  }),
  met('6.2.10', 2, 'No periodic change', { [model]: ['## Guessing'] }),
  met('6.2.11', 2, 'Words of this service are refused in passwords', { [passwords]: ['%s can be guessed'] }),
  met('6.2.12', 2, 'Breached passwords are refused', {
    [passwords]: ['at least 3,000 breached passwords that the length would allow are refused'],
  }),
  met('6.3.1', 1, 'Stop stuffing and guessing', {
    [attacks]: [
      'of a stranger do not lock the person out: each e-mail is counted with the address',
      'from many addresses at one e-mail end',
    ],
  }),
  met('6.3.2', 1, 'No default accounts', {
    [start]: [
      'with a public address makes no test account, prints no key, and starts neither simulator nor mailbox',
    ],
  }),
  not(
    '6.3.3',
    2,
    'A second factor to enter',
    'Money, people, keys, webhooks and operations of live accounts ask for it from the first day; to enter, members other than viewers have up to 30 days, and viewers never need one. They read payers.',
  ),
  met('6.3.4', 2, 'No weaker way in', {
    [attacks]: ['gives a session of one factor, which stays one when another session sets up the app'],
    [panel]: ['cannot sign up, and reaches no call of the library that is not named'],
  }),
  met('6.4.1', 1, 'First passwords and codes are random and short-lived', { [panel]: ['is good once'] }),
  met('6.4.2', 1, 'No hints, no secret questions', {
    [panel]: ['cannot sign up, and reaches no call of the library that is not named'],
  }),
  met('6.4.3', 2, 'A reset does not avoid the second factor', {
    [attacks]: ['for a day after %s: keys, transfers, people, webhooks, e-mail and factors are refused'],
  }),
  met('6.4.4', 2, 'A lost factor is replaced by identity proofing', {
    [attacks]: [
      'lists and ends the sessions of a person, and resets their factors',
      'that was added within a day before a password reset goes with it',
    ],
  }),
  met('6.5.1', 2, 'Codes are good once', {
    [attacks]: ['a code of the app opens one session, also when it is sent many times at once'],
    [drafts]: ['another code ends the one before, and three are mailed at most'],
  }),
  met('6.5.2', 2, 'Short codes are stored hashed', {
    [drafts]: ['the code stands in the mail, hashed in the database, and in no log'],
  }),
  met('6.5.3', 2, 'Codes come from a secure generator', {
    [ids]: ['has as many random bytes as were asked for'],
  }),
  met('6.5.4', 2, 'Codes have 20 bits', { [drafts]: ['a code has six digits, nothing else goes'] }),
  not(
    '6.5.5',
    2,
    'Codes end after ten minutes, TOTP after 30 s',
    'Mailed codes end after ten minutes. A code of the app counts in its own 30 s and in the 30 s behind it (RFC 6238, 5.2), so for at most a minute.',
  ),
  none('6.6.1', 2, 'Codes by telephone', 'No code goes by telephone.'),
  met('6.6.2', 2, 'A code is bound to its request', {
    [signIn]: ['is good in the session that asked for it, and by no API key'],
  }),
  met('6.6.3', 2, 'Guesses at codes are limited', {
    [attacks]: [
      '32 parallel guesses at mailed codes: ten are looked at, over all drafts of the person',
      '32 parallel guesses at the code of the app, over eight sign-ins: five are looked at',
    ],
  }),
  none('6.8.1', 2, 'Identity providers cannot be confused', noIdp),
  none('6.8.2', 2, 'Assertions are verified', noIdp),
  none('6.8.3', 2, 'SAML assertions are used once', noIdp),
  none('6.8.4', 2, 'Strength reported by an identity provider', noIdp),

  // ---------------------------------------------------------------------------------------------------------- 7. sessions
  met('7.1.1', 2, 'Document the times of sessions', { [model]: ['## Sessions'] }),
  met('7.1.2', 2, 'Document parallel sessions', { [model]: ['## Sessions'] }),
  none('7.1.3', 2, 'Document federated sessions', noIdp),
  met('7.2.1', 1, 'Sessions are verified on the server', {
    [panelAccess]: ['refuses callers without a session'],
  }),
  met('7.2.2', 1, 'Sessions use generated tokens', {
    [panel]: ['is listed, and ends when its person ends it elsewhere'],
  }),
  met('7.2.3', 1, 'Tokens have 128 bits of a secure generator', {
    [ids]: ['has as many random bytes as were asked for'],
  }),
  not(
    '7.2.4',
    1,
    'A new token at sign-in and at reauthentication',
    'Sign-in makes a new token; giving the password again keeps the token and only notes the time.',
  ),
  met('7.3.1', 2, 'An idle session needs proof', {
    [panel]: ['that was idle for half an hour wants the password before anything is changed'],
  }),
  met('7.3.2', 2, 'A session has a longest life', {
    [signIn]: ['ends twelve hours after the sign-in, whatever is done with it'],
  }),
  met('7.4.1', 1, 'An ended session is refused', {
    [panelAccess]: ['refuses a session that was ended like an unknown caller, and ends the streams'],
  }),
  met('7.4.2', 1, 'Sessions end with the person’s access', {
    [panelAccess]: ['shows a dismissed owner no account at all, and ends the streams'],
  }),
  met('7.4.3', 2, 'Other sessions can be ended after a change of factors', {
    [panel]: ['ends every session and freezes transfers of the panel for a day'],
    [signIn]: ['ends with all others when its person says so'],
  }),
  met('7.4.4', 2, 'Every page offers to sign out', {
    'server/test/panel/panel-people-browser.test.ts': ['a person signs in, and a refusal is read out'],
  }),
  met('7.4.5', 2, 'Operators can end sessions', {
    [attacks]: ['lists and ends the sessions of a person, and resets their factors'],
  }),
  met('7.5.1', 2, 'Changes of the account want proof', {
    [signIn]: ['wants a fresh password, and a link that is asked for again makes the one before void'],
    [attacks]: ['another e-mail of a person in a live account wants the second factor'],
  }),
  met('7.5.2', 2, 'People see and end their sessions', {
    [panel]: ['is listed, and ends when its person ends it elsewhere'],
  }),
  none('7.6.1', 2, 'Sessions with identity providers', noIdp),
  met('7.6.2', 2, 'No session without an action of the person', {
    [panel]: ['cannot sign any person in either'],
  }),

  // ----------------------------------------------------------------------------------------------------- 8. authorization
  met('8.1.1', 1, 'Document who may do what', {
    [access]: ['has a row for each route of the document, and none besides'],
    [panelAccess]: ['has a row for each route of the document, and none besides'],
  }),
  not(
    '8.1.2',
    2,
    'Document access to fields',
    'The guide names fields by permission where they differ; there is no whole list by role.',
  ),
  met('8.2.1', 1, 'Functions need permission', {
    [permissions]: ['each set of permissions opens exactly the calls that need one of them'],
  }),
  met('8.2.2', 1, 'Data needs permission', {
    [access]: ['shows nothing of another account, not even an id'],
    [panelAccess]: ['shows people of one account nothing of another account, not even an id'],
    [refunds]: ['a charge of another account, of another operation or of a deleted one'],
    [disputes]: ['a dispute of another operation or account is the same 404'],
    [statements]: ['each operation has its own statement, and a stranger none'],
    [testMode]: ['a payment of another account is 404 like one that does not exist, and is not touched'],
    [merchantPages]: ['are for neither viewers nor strangers, and are removed once'],
  }),
  met('8.2.3', 2, 'Fields need permission', {
    [fields]: [unknownMember],
    [operations]: [
      'A key that may change operations and not read sees no balance in what a creation, its repeat or a rename answers',
    ],
  }),
  met('8.3.1', 1, 'Rules are enforced on the server', {
    [panelAccess]: ['refuses callers without a session'],
  }),
  met('8.4.1', 2, 'Accounts cannot affect each other', {
    [permissions]: ['an id of another account is 404, the same as an id that does not exist'],
    [connections]: [
      'two merchants with connections of their own beside a shared one: each cent stands at its own provider',
    ],
  }),

  // ----------------------------------------------------------------------------------------------- 9. self-contained tokens
  met('9.1.1', 1, 'Tokens are verified by MAC', { [cursor]: ['any changed character is refused'] }),
  met('9.1.2', 1, 'Algorithms are fixed', { [cursor]: ['a cursor fits its list and its key only'] }),
  met('9.1.3', 1, 'Keys come from our own configuration', { [secrets]: ['differ from every other purpose'] }),
  none(
    '9.2.1',
    1,
    'Time spans are checked',
    'Cursors, the only self-contained tokens, carry none: they open nothing without a key.',
  ),
  met('9.2.2', 2, 'A token is of the right type', { [secrets]: ['differ from every other purpose'] }),
  none('9.2.3', 2, 'Audience of tokens', 'Tokens never leave the installation’s own API.'),
  none('9.2.4', 2, 'One key for several audiences', 'Each purpose has a key of its own.'),

  // ------------------------------------------------------------------------------------------------------ 10. OAuth, OIDC
  met('10.1.1', 2, 'Tokens go to those who need them', {
    [processes]: ['the log of a process, every level of it, holds no key, no Pix key, no name and no code'],
  }),
  none('10.1.2', 2, 'Values belong to a flow that was begun', noCodeFlow),
  none('10.2.1', 2, 'CSRF of the code flow', noCodeFlow),
  none('10.2.2', 2, 'Mix-up of authorization servers', noCodeFlow),
  ...(['10.3.1', '10.3.2', '10.3.3', '10.3.4'] as const).map((id) =>
    none(id, 2, 'Rules of a resource server', noResourceServer),
  ),
  ...(['10.4.1', '10.4.2', '10.4.3', '10.4.4', '10.4.5'] as const).map((id) =>
    none(id, 1, 'Rules of an authorization server', noOAuthServer),
  ),
  ...(['10.4.6', '10.4.7', '10.4.8', '10.4.9', '10.4.10', '10.4.11'] as const).map((id) =>
    none(id, 2, 'Rules of an authorization server', noOAuthServer),
  ),
  ...(['10.5.1', '10.5.2', '10.5.3', '10.5.4', '10.5.5'] as const).map((id) =>
    none(id, 2, 'Rules of an OIDC client', noOidc),
  ),
  ...(['10.6.1', '10.6.2'] as const).map((id) => none(id, 2, 'Rules of an OpenID provider', noOidc)),
  ...(['10.7.1', '10.7.2', '10.7.3'] as const).map((id) => none(id, 2, 'Consent', noOAuthServer)),

  // ----------------------------------------------------------------------------------------------------- 11. cryptography
  met('11.1.1', 2, 'A policy for keys and their life', { [model]: ['## Keys and algorithms'] }),
  met('11.1.2', 2, 'An inventory of cryptography', { [model]: ['## Keys and algorithms'] }),
  met('11.2.1', 2, 'Validated implementations', { [secrets]: ['does not open when any byte was changed'] }),
  met('11.2.2', 2, 'Algorithms and keys can be changed', {
    [secrets]: ['opens values while the previous secret is set, and seals with the current one'],
    [passwords]: ['a hash fits its own password only, and says how it was made'],
  }),
  met('11.2.3', 2, '128 bits of security', { [model]: ['## Keys and algorithms'] }),
  met('11.3.1', 1, 'No insecure block modes', { [secrets]: ['opens in no other context'] }),
  met('11.3.2', 1, 'Approved ciphers', { [secrets]: ['opens to the same bytes in the same context'] }),
  met('11.3.3', 2, 'Encryption is authenticated', { [secrets]: ['does not open when any byte was changed'] }),
  met('11.4.1', 1, 'Approved hashes', { [sdkSign]: [verifier] }),
  met('11.4.2', 2, 'Passwords under a slow hash', {
    [passwords]: ['a hash fits its own password only, and says how it was made'],
  }),
  met('11.4.3', 2, 'Hashes resist collisions', { [sdkSign]: [verifier] }),
  met('11.4.4', 2, 'Keys from passwords are stretched', {
    [passwords]: ['a hash fits its own password only, and says how it was made'],
  }),
  met('11.5.1', 2, 'Random values are secure, 128 bits', {
    [ids]: ['has as many random bytes as were asked for'],
  }),
  met('11.6.1', 2, 'Approved algorithms for keys and signatures', {
    [sdkSign]: [verifier],
    [sdkVerify]: [
      'the HMAC is that of node:crypto for keys and messages of every length around the block',
      'a message is refused when one bit of it, its id or its time is different',
    ],
  }),

  // ----------------------------------------------------------------------------------------------------- 12. communication
  none(
    '12.1.1',
    1,
    'TLS 1.2 and 1.3 alone',
    'TLS ends at the proxy in front; as a client, Node speaks 1.2 and 1.3 alone.',
  ),
  none('12.1.2', 2, 'Recommended cipher suites', 'TLS ends at the proxy in front.'),
  not(
    '12.1.3',
    2,
    'Client certificates are validated',
    'The proxy in front checks a provider’s certificate, and no test of ours runs one; tested is that its word counts from a trusted proxy alone.',
  ),
  met('12.2.1', 1, 'TLS for external services', {
    [config]: ['without TLS'],
    [http]: ['behind a trusted proxy a request that came without TLS is refused'],
  }),
  none('12.2.2', 1, 'Publicly trusted certificates', 'The certificate is that of the proxy in front.'),
  met('12.3.1', 2, 'Every connection is encrypted', {
    [config]: ['what may go without TLS is named in words', 'is refused, unless ALLOW_WITHOUT_TLS says'],
    [mail]: ['a server that offers no TLS gets no mail'],
  }),
  met('12.3.2', 2, 'Certificates are validated', {
    [hostile]: ['a certificate for another name ends the attempt'],
    [net]: ['a TLS handshake that fails'],
  }),
  met('12.3.3', 2, 'TLS between internal HTTP services', {
    [config]: ['is reached over TLS, except on this machine'],
  }),
  met('12.3.4', 2, 'Internal connections trust only the certificate authorities that were configured', {
    'server/test/database/certificate.test.ts': [
      'a PostgreSQL whose certificate no authority vouches for gets no login',
      'sslrootcert names the one authority that is trusted',
    ],
  }),

  // ----------------------------------------------------------------------------------------------------- 13. configuration
  met('13.1.1', 2, 'Document what is connected to', { [model]: ['## Connections'] }),
  met('13.2.1', 2, 'Backends authenticate each other', {
    [embedded]: ['listens on loopback alone, asks for its password and loses nothing that was committed'],
    [simulator]: ['with a client key only the clients that were made from it get a token'],
  }),
  met('13.2.2', 2, 'Least privilege between backends', {
    [embedded]: ['cannot leave its role: no statement of the service makes a journal changeable'],
    'server/test/database/service-login.test.ts': [
      'is no way to more: what succeeds as the superuser is refused to the login of the service',
    ],
  }),
  met('13.2.3', 2, 'No default credentials', {
    [embedded]: ['is made in a folder of an earlier version, and its password is known to the folder alone'],
  }),
  met('13.2.4', 2, 'A list of what may be reached', {
    [addresses]: ['what is denied stays denied where it is allowed as well'],
    [hostile]: ['a URL that the rules no longer allow is not connected to'],
  }),
  met('13.2.5', 2, 'A list of what the server may load', {
    [addresses]: ['one address that is not allowed refuses the name'],
  }),
  not(
    '13.3.1',
    2,
    'A secrets manager',
    'Every setting can come from a file that such a manager mounts (NAME_FILE); without one, the secret is a file of mode 0600.',
  ),
  met('13.3.2', 2, 'Secrets for those who need them', {
    [secrets]: ['is made once, for its owner alone, also when several processes begin'],
  }),
  met('13.4.1', 1, 'No source control data served', { [panel]: ['gets the pages and nothing else'] }),
  met('13.4.2', 2, 'No debug modes', {
    [http]: ['every answer names its request, is not stored and is JSON in UTF-8'],
  }),
  met('13.4.3', 2, 'No directory listings', { [panel]: ['gets the pages and nothing else'] }),
  met('13.4.4', 2, 'No TRACE', {
    [http]: ['every path takes OPTIONS, says its methods and allows no other origin'],
  }),
  met('13.4.5', 2, 'Documents and monitoring are exposed on purpose', {
    [permissions]: ['without a key the router opens nothing but what is written here'],
    [metrics]: ['the metrics show the process, the work and what needs a person, and name no account'],
    [tracing]: [aTrace],
  }),

  // ----------------------------------------------------------------------------------------------------- 14. data protection
  met('14.1.1', 2, 'Sensitive data is classified', { [model]: ['## Data'] }),
  met('14.1.2', 2, 'Each class has its protection', { [model]: ['## Data'] }),
  met('14.2.1', 1, 'Nothing sensitive in URLs', {
    [keys]: [
      'without a key, or with the key elsewhere than in the header, the answer is 401 api_key_missing',
    ],
  }),
  met('14.2.2', 2, 'Nothing sensitive in caches', {
    [http]: ['every answer names its request, is not stored and is JSON in UTF-8'],
  }),
  met('14.2.3', 2, 'Nothing goes to trackers', {
    [docsBrowser]: ['a browser shows every call and event, sends no request to another host'],
  }),
  met('14.2.4', 2, 'Protection is implemented as documented', {
    [requestLog]: [
      'nothing of what was sent as text is in the table',
      'what is older than thirty days goes, and nothing younger',
    ],
    [merchantPages]: ['are kept sealed, listed by name for who transfers, and recorded without their key'],
  }),
  not(
    '14.3.1',
    1,
    'The browser keeps nothing after the session',
    'The panel forgets its data when its page is left; signing out sends no Clear-Site-Data, and no test looks.',
  ),
  met('14.3.2', 2, 'Answers are not cached', {
    [http]: ['every answer names its request, is not stored and is JSON in UTF-8'],
  }),
  met('14.3.3', 2, 'Browser storage holds nothing sensitive', {
    'server/test/panel/panel-words.test.ts': [
      'the browser keeps the language, the account and the operation that were chosen, and the token of the mailbox page; a tab, which notice was closed',
    ],
    [docsBrowser]: ['a test key fills the code of every page in its tab'],
  }),

  // ------------------------------------------------------------------------------------------------------ 15. secure coding
  met('15.1.1', 1, 'Times for mending components are documented', { [policy]: ['## Dependencies'] }),
  met('15.1.2', 2, 'An inventory of components', { [ci]: ['npm sbom'], [policy]: ['## Dependencies'] }),
  met('15.1.3', 2, 'Expensive functions are documented', { [model]: ['## Expensive work'] }),
  not(
    '15.2.1',
    1,
    'Components are within those times',
    'Nothing checks it by itself: `npm audit` needs a registry that offers it.',
  ),
  met('15.2.2', 2, 'Expensive functions are defended', {
    [edges]: [
      'above 128 characters is refused before its text is looked at',
      'of one caller have a share of the process',
    ],
    'server/test/http/edge-limits.test.ts': [
      'is in the table, and every row of the table is a route of the program',
      'A search counts as twenty reads, the page itself as one',
      'count as files, for each person and for the account over all of its people',
    ],
    'server/test/database/connection-budget.test.ts': [
      'A crowd of one caller keeps no other caller waiting behind all of it',
    ],
    'server/test/webhooks/webhooks-at-once.test.ts': ['An endpoint that keeps failing rests'],
    'server/src/ground/paper/papers.test.ts': [
      'A statement of 4,000 lines is drawn off the thread that serves requests',
    ],
    [regular]: ['no pattern of the API documents needs more than linear steps'],
    [inbound]: ['of bodies that never end keeps no more memory than it may, and ends with them'],
    'server/test/http/overload.test.ts': [
      'what cannot be answered in time is shed, reads before creations, and it comes back by itself',
    ],
  }),
  met('15.2.3', 2, 'Production has no test functions', {
    [start]: [
      'with a public address makes no test account, prints no key, and starts neither simulator nor mailbox',
    ],
    [edges]: ['does not exist with a live provider, a public address, a mail server or a proxy'],
    [testMode]: [
      'a live account reaches none of it: no key may carry the permission, and a key that has it is refused',
    ],
    'server/test/test-mode/reset.test.ts': [
      'it needs simulate, operations and webhooks, and never touches a live account',
    ],
  }),
  met('15.3.1', 1, 'Answers have the needed fields alone', {
    'server/test/http/http-openapi.test.ts': ['what the calls answer fits the document'],
    'server/test/payments/lookup.test.ts': ['a code past its state is not shown, nor is one in a list'],
  }),
  met('15.3.2', 2, 'Redirects are not followed', { [net]: ['a redirect is an answer'] }),
  met('15.3.3', 2, 'No mass assignment', { [fields]: [unknownMember] }),
  met('15.3.4', 2, 'The caller’s address is right', {
    [limits]: ['a forwarded header cannot switch the limit of failed keys off'],
  }),
  met('15.3.5', 2, 'Types are checked', {
    [fields]: ['1000.0 and 1e3 are the integer 1000'],
    [fuzz]: ['what is too large or of another type is refused as such'],
  }),
  met('15.3.6', 2, 'No prototype pollution', {
    [http]: ['a body that is no JSON object is malformed_json with one message'],
    [fields]: [unknownMember],
  }),
  met('15.3.7', 2, 'No parameter pollution', {
    [keys]: [
      'without a key, or with the key elsewhere than in the header, the answer is 401 api_key_missing',
    ],
    [fields]: ['of the other calls is ignored, and a body of GET as well'],
  }),

  // ----------------------------------------------------------------------------------------------------- 16. logging, errors
  met('16.1.1', 2, 'An inventory of logs', { [model]: ['## Logs'] }),
  met('16.2.1', 2, 'Entries say when, where, who, what', {
    [attacks]: [
      'tell owners of sign-ins, failures, factors, passwords, keys, webhooks, people, refusals and exports',
    ],
  }),
  met('16.2.2', 2, 'Times are in UTC', {
    [requestLog]: ['a transfer stands there with its payment, its key and its id, and without its Pix key'],
  }),
  met('16.2.3', 2, 'Logs go where they are said to', { [model]: ['## Logs'] }),
  met('16.2.4', 2, 'Logs have a common form', {
    [processes]: ['the log of a process, every level of it, holds no key, no Pix key, no name and no code'],
  }),
  met('16.2.5', 2, 'Logs hold no secrets', {
    [processes]: ['the log of a process, every level of it, holds no key, no Pix key, no name and no code'],
    [redact]: ['amounts, request keys and kinds of keys are kept; of everything else name and kind'],
    [tracing]: [aTrace],
  }),
  met('16.3.1', 2, 'Authentication is logged', {
    [attacks]: [
      'tell owners of sign-ins, failures, factors, passwords, keys, webhooks, people, refusals and exports',
    ],
  }),
  met('16.3.2', 2, 'Refused authorization is logged', {
    [attacks]: [
      'tell owners of sign-ins, failures, factors, passwords, keys, webhooks, people, refusals and exports',
    ],
  }),
  met('16.3.3', 2, 'Security events are logged', { [attacks]: ['are kept for a year'] }),
  met('16.3.4', 2, 'Unexpected errors are logged', {
    [tillFailures]: ['counts violations and other errors apart, also in the halves'],
    [outages]: ['news that cannot be written while the disk is full is written afterwards'],
  }),
  met('16.4.1', 2, 'Logs cannot be injected into', {
    [processes]: ['the log of a process, every level of it, holds no key, no Pix key, no name and no code'],
  }),
  not(
    '16.4.2',
    2,
    'Logs cannot be changed',
    'Standard error belongs to the operator. A change of the audit log by the database’s owner is found by `vintem verify`, not prevented.',
  ),
  not(
    '16.4.3',
    2,
    'Logs go to another system',
    'The audit log is sent to a receiver over TLS where `AUDIT_FORWARD_URL` is set. Standard error can be collected; sending it away is the operator’s part.',
  ),
  met('16.5.1', 2, 'Errors say nothing of the inside', {
    [http]: ['what is no HTTP gets a JSON error and the connection ends'],
    [outages]: ['%s answers 503 at once, commits nothing and keeps the key free'],
  }),
  met('16.5.2', 2, 'It works on while others fail', {
    'server/test/settlement/settlement-breaker.test.ts': [
      'stays closed for the others when one merchant’s payload breaks the provider, and opens when it is everybody’s',
    ],
  }),
  met('16.5.3', 2, 'It fails closed', {
    [tillFailures]: ['once with %s is run once more as it was'],
    [backup]: ['is refused and nothing is written: one byte changed anywhere'],
  }),

  // ------------------------------------------------------------------------------------------------------------ 17. WebRTC
  ...(['17.1.1', '17.2.1', '17.2.2', '17.2.3', '17.2.4', '17.3.1', '17.3.2'] as const).map((id) =>
    none(id, 2, 'Rules of WebRTC', noWebRtc),
  ),
];

const page = new URL('../../docs/security/asvs.md', import.meta.url);

export const countsOf = (
  table: readonly Requirement[],
): { shown: number; reviewed: number; notApplicable: number; notMet: number } => ({
  shown: table.filter(({ verdict }) => 'shown' in verdict).length,
  reviewed: table.filter(({ verdict }) => 'reviewed' in verdict).length,
  notApplicable: table.filter(({ verdict }) => 'notApplicable' in verdict).length,
  notMet: table.filter(({ verdict }) => 'notMet' in verdict).length,
});

/** A name that only opens a test or a call stands for the whole file. */
const isWholeFile = (name: string): boolean => /^(?:test|it)?\($|^#$/.test(name);

function verdictText({ verdict }: Requirement): string {
  if ('notApplicable' in verdict) return `not applicable, because: ${verdict.notApplicable}`;
  if ('notMet' in verdict) return `**not met**: ${verdict.notMet}`;
  if ('shown' in verdict) {
    const tests = verdict.shown.map(
      ({ test, title, file }) => `[${test}](../../${test}): ${title} (fails when \`${file}\` is broken)`,
    );
    return `shown by test ${tests.join('<br>')}`;
  }
  const read = Object.entries(verdict.reviewed).map(([file, names]) => {
    const named = names.filter((name) => !isWholeFile(name));
    return `[${file}](../../${file})${named.length === 0 ? '' : `: ${named.join('; ')}`}`;
  });
  return `by review, because ${verdict.because}:<br>${read.join('<br>')}`;
}

export function renderAsvs(): string {
  const counts = countsOf(asvsTable);
  const lines = [
    '# OWASP ASVS 5.0, levels 1 and 2',
    '',
    'Each requirement of the Application Security Verification Standard 5.0.0 of levels 1 and 2, in our own short words; the text is',
    'at https://github.com/OWASP/ASVS. Written from `testkit/src/asvs-table.ts` and checked by `server/test/program/asvs.test.ts`: every test',
    'and every part of a document that is named here exists. **Shown** means that a small mistake was planted that breaks the requirement, and the named test',
    'failed (`npm run proof -- --only asvs`; the mistakes stand in `proof/asvs/mutations.ts`). **By review** means that code or document was read; the tests',
    'named there exercise it, and were not seen to fail when it is broken.',
    '',
    `${asvsTable.length} requirements: ${counts.shown} shown, ${counts.reviewed} by review, ${counts.notApplicable} not applicable, ${counts.notMet} not met.`,
    '',
    '| Id | Level | Asks | Verdict |',
    '|---|---|---|---|',
    ...asvsTable.map((one) =>
      [`| ${one.id}`, one.level, one.asks, `${verdictText(one).replaceAll('|', '\\|')} |`].join(' | '),
    ),
  ];
  return `${lines.join('\n')}\n`;
}

if (import.meta.main && process.argv[2] === '--write') await writeFile(page, renderAsvs());

export const committedAsvs = (): Promise<string> => readFile(page, 'utf8');
