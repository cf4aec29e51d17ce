/**
 * One small mistake for each requirement of OWASP ASVS that a test shows: with it, the named test must fail. A requirement without one here
 * is not called shown in `docs/security/asvs.md`. The first match of `line` in the file is replaced.
 */
export interface Mutation {
  /** The requirements that it breaks. */
  ids: readonly string[];
  file: string;
  line: string;
  with: string;
  test: string;
  /** Part of the test's title. */
  title: string;
}

const headers = 'server/src/edge/security-headers.ts';
const answers = 'server/src/edge/answers.ts';
const auth = 'server/src/panel/auth/auth.ts';
const attempts = 'server/src/panel/auth/attempts.ts';
const session = 'server/src/panel/auth/session.ts';
const password = 'server/src/panel/people/password.ts';
const passwordTest = 'server/src/panel/people/password.test.ts';
const members = 'server/src/panel/people/members.sql.ts';
const edges = 'server/test/http/edges.test.ts';
const http = 'server/test/http/http.test.ts';
const limits = 'server/test/http/http-rate-limit.test.ts';
const keys = 'server/test/program/keys.test.ts';
const panel = 'server/test/panel/panel.test.ts';
const signIn = 'server/test/panel/panel-sign-in.test.ts';
const attacks = 'server/test/panel/panel-attacks.test.ts';
const panelAccess = 'proof/access/panel.test.ts';
const cursor = 'server/src/ground/cursor.ts';
const cursorTest = 'server/src/ground/cursor.test.ts';
const secrets = 'server/src/ground/secrets.ts';
const secretsTest = 'server/src/ground/secrets.test.ts';
const logo = 'server/src/panel/merchant/logo.ts';
const logoTest = 'server/src/panel/merchant/logo.test.ts';
const names = 'server/src/panel/exports/file-name.ts';
const namesTest = 'server/src/panel/exports/file-name.test.ts';
const everyHeader = 'every answer carries the headers that keep browsers from guessing, framing and telling';
const ownJson = 'every answer names its request, is not stored and is JSON in UTF-8';
const overTls = 'behind a proxy with TLS is a __Host- cookie, and only the public origin may change anything';
const hiddenCookie = 'is a cookie that scripts cannot read and other sites do not send';
const textPlain = "'text/plain'";

const of = (
  ids: string | readonly string[],
  file: string,
  line: string,
  wrong: string,
  test: string,
  title: string,
): Mutation => ({ ids: [ids].flat(), file, line, with: wrong, test, title });

export const mutations: readonly Mutation[] = [
  of(
    '1.1.2',
    'server/src/ground/csv.ts',
    ' || safe.includes(separator) ?',
    ' ?',
    'server/src/ground/csv.test.ts',
    'quotes, separators and line ends are quoted',
  ),
  of(
    '1.3.3',
    'server/src/ground/csv.ts',
    'const formula = /(^|[;,',
    'const formula = /(^|[',
    'server/src/ground/csv.test.ts',
    'A formula behind any separator is text',
  ),
  of(
    '1.3.4',
    logo,
    'return PNG.sync.write(fresh);',
    'return sent;',
    logoTest,
    'loses everything that is not a pixel',
  ),
  of(
    '1.3.6',
    'server/src/events/webhooks/address.ts',
    '!addresses.every((address)',
    '!addresses.some((address)',
    'server/src/events/webhooks/address.test.ts',
    'one address that is not allowed refuses the name',
  ),
  of(
    '13.2.4',
    'server/src/events/webhooks/address.ts',
    'if (holds(denied, address)) return false;',
    '',
    'server/src/events/webhooks/address.test.ts',
    'what is denied stays denied where it is allowed as well',
  ),
  of(
    '2.2.3',
    'server/src/kinds/transfer/pix-key.ts',
    ' || !formats[type].test(key)',
    '',
    http,
    'a Pix key has the form of its type',
  ),
  of(
    '2.4.1',
    'server/src/edge/connection-shares.ts',
    'if (others >= connectionsOfCaller) {',
    'if (others >= connectionsMost) {',
    edges,
    'of one caller have a share of the process',
  ),
  of(
    '2.4.1',
    'server/src/edge/rate-limit.ts',
    "const one = bucket('auth', callerNetwork(request));",
    "const one = bucket('auth', request.ip);",
    limits,
    'as the proxy writes it, are counted together',
  ),
  of(
    '2.4.1',
    'server/src/store/database/connection-budget.ts',
    'member.waiting.add(whoseCall(),',
    'member.waiting.add(null,',
    'server/test/database/connection-budget.test.ts',
    'A crowd of one caller keeps no other caller waiting behind all of it',
  ),
  of('3.2.1', answers, "'application/json; charset=utf-8'", textPlain, http, ownJson),
  of(
    '4.1.1',
    answers,
    "'application/json; charset=utf-8'",
    "'application/json; charset=iso-8859-1'",
    http,
    ownJson,
  ),
  of(['14.2.2', '14.3.2'], answers, "reply.header('cache-control', 'no-store');", '', http, ownJson),
  of('3.3.2', auth, "sameSite: 'lax'", "sameSite: 'none'", panel, hiddenCookie),
  of(['3.3.1', '3.3.3'], auth, "overTls ? '__Host-vintem' : 'vintem'", "'vintem'", signIn, overTls),
  of('3.3.4', auth, 'httpOnly: true', 'httpOnly: false', panel, hiddenCookie),
  of(
    '3.4.1',
    answers,
    "if (overTls) reply.header('strict-transport-security', strictTransport);",
    '',
    edges,
    'where the public address is https, every answer demands TLS of browsers',
  ),
  of('3.4.3', headers, "'content-security-policy':", "'x-no-policy':", edges, everyHeader),
  of('3.4.4', headers, "'x-content-type-options': 'nosniff',", '', edges, everyHeader),
  of('3.4.5', headers, "'referrer-policy': 'no-referrer',", '', edges, everyHeader),
  of('3.4.6', headers, "; frame-ancestors 'none'", '', edges, everyHeader),
  of(
    '3.5.1',
    session,
    "throw new PanelError('origin_refused');\n  }\n\n  async function personOf",
    'return;\n  }\n\n  async function personOf',
    panel,
    'cannot sign any person in either',
  ),
  of(
    '7.6.2',
    session,
    "throw new PanelError('origin_refused');\n  }\n\n  async function personOf",
    'return;\n  }\n\n  async function personOf',
    panel,
    'cannot sign any person in either',
  ),
  of(
    '4.1.2',
    'server/src/api/public-api.ts',
    "if (behindProxy && request.headers['x-forwarded-proto'] === 'http') throw refuse('tls_required');",
    '',
    http,
    'behind a trusted proxy a request that came without TLS is refused',
  ),
  of(
    '4.1.3',
    'server/src/edge/caller-address.ts',
    "return address !== null && trusted.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');",
    'return true;',
    keys,
    'a forwarded address counts only from a trusted proxy',
  ),
  of(
    '15.3.4',
    'server/src/edge/caller-address.ts',
    'plainAddress(request.ip) ??',
    'request.ip ??',
    limits,
    'Wrong keys of',
  ),
  of(
    '5.2.2',
    logo,
    'data.copy(fresh.data);\n    return PNG.sync.write(fresh);',
    'return sent;',
    logoTest,
    'loses everything that is not a pixel',
  ),
  of(
    '5.2.3',
    logo,
    ', { maxOutputLength: filtered }',
    '',
    logoTest,
    'that unpacks to a thousand times its size is unpacked no further than its head says',
  ),
  of(
    '5.4.1',
    names,
    "`${parts.filter(Boolean).join('-')}.${ending}`",
    '`${accountName}.${ending}`',
    namesTest,
    'a file is named after account, kind and period, in days of Brasília',
  ),
  of(
    '5.4.2',
    names,
    'slugOf(accountName), slugOf(',
    'accountName, slugOf(',
    namesTest,
    'a name that leaves nothing for a header breaks none',
  ),
  of(
    '6.2.1',
    'server/src/panel/people/password-length.ts',
    'minimum: 12',
    'minimum: 1',
    signIn,
    'that is common, short or the person’s own address is not taken',
  ),
  of(
    ['6.2.4', '6.2.12'],
    password,
    'if (breached.has(text) || breached.has(withoutEnding(text))) return true;',
    '',
    passwordTest,
    'at least 3,000 breached passwords',
  ),
  of(
    '6.2.5',
    password,
    'if (rest.length < 4) return true;',
    'if (rest.length < 4 || !/[0-9]/.test(password)) return true;',
    passwordTest,
    'is taken',
  ),
  of(
    '6.2.8',
    password,
    "password.normalize('NFKC');\n    argon2(",
    "password.normalize('NFKC').trim().toLowerCase();\n    argon2(",
    passwordTest,
    'a hash fits its own password only',
  ),
  of(
    '6.2.9',
    'server/src/panel/people/password-length.ts',
    'maximum: 128',
    'maximum: 63',
    signIn,
    'that is common, short or the person’s own address is not taken',
  ),
  of('6.2.11', password, '|vintem|', '|', passwordTest, 'can be guessed'),
  of(
    ['11.4.2', '11.4.4'],
    password,
    'const passes = 2;',
    'const passes = 1;',
    passwordTest,
    'a hash fits its own password only, and says how it was made',
  ),
  of(
    '6.3.1',
    attempts,
    'signIn: floods(10, 15 * minute)',
    'signIn: floods(10_000, 15 * minute)',
    attacks,
    'of a stranger do not lock the person out',
  ),
  of(
    '6.3.4',
    'server/src/panel/auth/auth-routes.ts',
    'if (rule.addsFactor || rule.removesFactor) requireOwnFactor(person);',
    '',
    attacks,
    'neither removes the app nor adds another factor beside it',
  ),
  of(
    '6.4.3',
    auth,
    'await freezeUser(tx, user.id, now + freezeMs);',
    '',
    attacks,
    'keys, transfers, people, webhooks, e-mail and factors are refused',
  ),
  of(
    '6.5.1',
    'server/src/panel/auth/one-time-codes.ts',
    'if (step === null || !(await useTotpStep(deps.sql, userId, step))) {',
    'if (step === null) {',
    attacks,
    'a code of the app opens one session',
  ),
  of(
    '6.6.3',
    attempts,
    'factorCode: guesses(5, 15 * minute)',
    'factorCode: guesses(500, 15 * minute)',
    attacks,
    '32 parallel guesses at the code of the app',
  ),
  of(
    '7.3.1',
    session,
    "if (changes && facts.needs !== 'read' && idle)",
    "if (changes && facts.needs !== 'read' && idle && person.createdAt === 0)",
    panel,
    'that was idle for half an hour wants the password',
  ),
  of(
    '7.3.2',
    auth,
    'export const sessionSeconds = 12 * hour;',
    'export const sessionSeconds = 24 * hour;',
    signIn,
    'ends twelve hours after the sign-in',
  ),
  of(
    ['7.4.1', '7.5.2'],
    members,
    'DELETE FROM panel_session WHERE user_id = $1 AND id = $2',
    'DELETE FROM panel_session WHERE user_id = $1 AND id = $2 AND false',
    panel,
    'is listed, and ends when its person ends it elsewhere',
  ),
  of(
    '7.4.2',
    members,
    'DELETE FROM panel_member WHERE account_id = $1 AND user_id = $2`',
    'DELETE FROM panel_member WHERE account_id = $1 AND user_id = $2 AND false`',
    panelAccess,
    'shows a dismissed owner no account at all',
  ),
  of(
    '7.4.3',
    auth,
    'revokeSessionsOnPasswordReset: true',
    'revokeSessionsOnPasswordReset: false',
    panel,
    'ends every session and freezes transfers',
  ),
  of(
    '7.5.1',
    'server/src/panel/members/address-routes.ts',
    'sessions.requireFresh(person);',
    '',
    signIn,
    'wants a fresh password, and a link',
  ),
  of(
    '8.2.1',
    'server/src/api/public-api.ts',
    'requirePermission(key.permissions, facts.permissions);',
    '',
    'server/test/http/permissions.test.ts',
    'each set of permissions opens exactly the calls',
  ),
  of(
    '8.2.2',
    session,
    'const membership = memberships.find((one) => one.accountId === accountId);',
    'const membership = memberships[0];',
    panelAccess,
    'says to the owner of another account that there is none',
  ),
  of(
    '8.3.1',
    session,
    "if (!may(membership.role, facts.needs)) throw new PanelError('role_denied');",
    '',
    panelAccess,
    'do what the role may, and nothing else',
  ),
  of(
    '8.4.1',
    'server/src/panel/members/member-routes.ts',
    'if (!only) return;',
    '',
    attacks,
    'An account ends and sees access to itself',
  ),
  of(
    '9.1.1',
    cursor,
    "if (!timingSafeEqual(tag, tagOf(key, list, body))) throw refuse('invalid_cursor');",
    '',
    cursorTest,
    'any changed character is refused',
  ),
  of(
    '9.1.2',
    cursor,
    ".update(hash('sha256', list, 'buffer'))",
    '',
    cursorTest,
    'a cursor fits its list and its key only',
  ),
  of(
    ['9.1.3', '9.2.2'],
    secrets,
    'hkdf(secret, `vintem ${purpose}`)',
    "hkdf(secret, 'vintem')",
    secretsTest,
    'differ from every other purpose',
  ),
  of(
    '11.2.2',
    secrets,
    '...(previous ? [previous] : [])',
    '',
    secretsTest,
    'opens values while the previous secret is set',
  ),
  of(
    '11.3.3',
    secrets,
    'Buffer.concat([decipher.update(data), decipher.final()])',
    'decipher.update(data)',
    secretsTest,
    'does not open when any byte was changed',
  ),
  of(
    '14.2.1',
    'server/src/edge/bearer.ts',
    'const header = request.headers.authorization;',
    "const header = request.headers.authorization ?? new URL(request.url ?? '', 'http://x').search;",
    keys,
    'without a key, or with the key elsewhere than in the header',
  ),
  of(
    '16.2.5',
    'server/src/edge/request-log/redact.ts',
    'shown.has(name) && isShort(value)',
    'isShort(value)',
    'server/src/edge/request-log/redact.test.ts',
    'amounts, request keys and kinds of keys are kept',
  ),
  of(
    '16.2.1',
    'server/src/panel/auth/auth-effects.ts',
    'ipAddress: callerAddress(answered.request),',
    'ipAddress: null,',
    attacks,
    'tell owners of sign-ins, failures, factors',
  ),
  of(
    '16.3.3',
    'server/src/panel/people/security-events.ts',
    'const keptMs = 365 * 86_400_000;',
    'const keptMs = 30 * 86_400_000;',
    attacks,
    'are kept for a year',
  ),
];
