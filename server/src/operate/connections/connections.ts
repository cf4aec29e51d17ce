import type { Secrets } from '../../ground/secrets.ts';
import type { Net } from '../../ports/net.ts';
import type { Transaction } from '../../ports/sql.ts';
import { type Adapter, CredentialFault, placeOf } from '../../provider/adapter.ts';
import { type Finding, isConnectionName, isOfEnvironment } from '../../provider/provider.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { installationId, writeAudit } from '../../store/rows/audit.sql.ts';
import { askAtNewConnection } from '../pause.ts';
import {
  bindAccount,
  type ConnectionRow,
  findConnectionRow,
  findOpenOf,
  hasOpenPayments,
  insertConnection,
  listConnectionRows,
  lockAccount,
  lockConnection,
  type Mode,
  setChargeFallback,
  updateConnection,
} from './connections.sql.ts';
import {
  adapterNamed,
  checkedCredentials,
  openKept,
  providerOfRow,
  requireSafeUrl,
  sealKept,
  settingsOf,
  simulatorCredentials,
} from './credentials.ts';
import { identityBehind, requireSameOrFree } from './identity.ts';

/**
 * Connections as operators make and change them. A connection is stored only after its credentials were read, its certificate was opened
 * and the provider gave a token for them, so that a fault shows here and not at the first payment. Nothing is stored half: each act is
 * one transaction with its row of the audit log.
 */
export interface ConnectionDeps extends Operator {
  secrets: Secrets;
  net: Net;
  config: {
    simulatorUrl: string;
    hooksUrl: string;
    /** The connection `live` of the environment. */
    provider: { clientId: string; pixKey: string } | null;
  };
}

export interface ConnectionView {
  name: string;
  adapter: string;
  mode: Mode;
  state: 'active' | 'retired';
  test: boolean;
  /** Which of the three it is: money moves at `live` alone. */
  environment: 'live' | 'sandbox' | 'simulator';
  accounts: number;
  /** ms since 1970. */
  certificateExpiresAt?: number;
  /** ms since 1970: since then nothing goes over it. */
  heldSince?: number;
  heldReason?: string;
}

export const viewOf = (row: ConnectionRow): ConnectionView => ({
  name: row.name,
  adapter: row.adapter ?? 'environment',
  mode: row.mode,
  state: row.state,
  test: row.test,
  environment: environmentOf(row),
  accounts: row.accounts,
  ...(row.certificateExpiresAt === null ? {} : { certificateExpiresAt: row.certificateExpiresAt }),
  ...(row.heldSince === null ? {} : { heldSince: row.heldSince, heldReason: row.heldReason ?? '' }),
});

/** `sandbox`: the provider's own test environment. */
export const environmentOf = ({
  name,
  test,
  simulated,
}: Pick<ConnectionRow, 'name' | 'test' | 'simulated'>): ConnectionView['environment'] =>
  simulated || name === 'simulator' ? 'simulator' : test ? 'sandbox' : 'live';

export const listConnections = async ({ sql }: Pick<Operator, 'sql'>): Promise<ConnectionView[]> =>
  (await listConnectionRows(sql)).map(viewOf);

/** @throws OperatorRefused no such connection */
export async function showConnection({ sql }: Pick<Operator, 'sql'>, name: string): Promise<ConnectionView> {
  const row = await findConnectionRow(sql, name);
  if (!row) throw new OperatorRefused(`no connection ${name}`);
  return viewOf(row);
}

export interface Wanted {
  name: string;
  adapter: string;
  mode: Mode;
  url: string | null;
  /** The parsed file; null: made for the simulator. */
  credentials: unknown;
  simulated: boolean;
  /** The provider's own test environment. */
  sandbox?: boolean;
}

/**
 * @throws CredentialFault that names what cannot be used; OperatorRefused: the name is taken, or the provider refuses the credentials
 */
export async function createConnection(deps: ConnectionDeps, wanted: Wanted): Promise<ConnectionView> {
  const { name, mode, simulated, sandbox = false } = wanted;
  requireName(name);
  const adapter = adapterNamed(wanted.adapter);
  const now = deps.clock.now();
  const file = simulated ? simulatorCredentials(adapter, deps.secrets, name) : wanted.credentials;
  const { credentials, certificateExpiresAt } = checkedCredentials(adapter, file, { simulated, now });
  const url = simulated ? null : addressOf(adapter, wanted.url, sandbox);
  if (!simulated) await requireOwnAccount(deps, name, credentials);
  const row = { name, test: simulated || sandbox, simulated, url };
  const identity = await requireAccepted(deps, adapter, row, credentials);
  if (!simulated) await requireNewAccount(deps, name, identity);
  await deps.sql.tx(async (tx) => {
    const made = await insertConnection(tx, {
      ...row,
      adapter: wanted.adapter,
      mode,
      credentials: sealKept(deps.secrets, name, { current: credentials, previous: null }),
      certificateExpiresAt,
      webhookToken: deps.ids.bytes(24).toString('base64url'),
      identity,
      now,
    });
    if (!made) throw new OperatorRefused(`there is a connection ${name} already`);
    await askAtNewConnection(tx, name, now);
    await record(deps, tx, 'connection.create', name, { adapter: wanted.adapter, mode, simulated, sandbox });
  });
  return showConnection(deps, name);
}

/** @throws CredentialFault for an address that is none, or that is of the other environment */
function addressOf(adapter: Adapter, given: string | null, sandbox: boolean): string {
  const known = sandbox ? adapter.testUrl : adapter.defaultUrl;
  if (given === null && known === null)
    throw new CredentialFault('url: is missing, and no test environment of this provider is known');
  const url = requireSafeUrl(given ?? known ?? '');
  requireEnvironment(adapter, url, sandbox);
  return url;
}

/** Play money in the books of a live account would be a real balance. @throws CredentialFault */
function requireEnvironment(adapter: Adapter, url: string, test: boolean): void {
  const place = placeOf(adapter, url);
  if (place === 'test' && !test)
    throw new CredentialFault(
      "url: is of the provider's test environment: make a connection with --sandbox, to which test accounts alone bind",
    );
  if (place === 'live' && test)
    throw new CredentialFault('url: is where the provider moves money: make a connection without --sandbox');
}

/** Members of which each belongs to one account at one provider. */
const accountMembers = ['clientId', 'appId', 'apiKey', 'pixKey'] as const;

/**
 * Two connections for one account at a provider would each find the payments of the other and book them as money that matches none. A
 * retired one still reads what its payments become.
 * @throws CredentialFault that names the member and the other connection
 */
async function requireOwnAccount(
  { sql, secrets, config }: ConnectionDeps,
  name: string,
  credentials: Readonly<Record<string, string>>,
): Promise<void> {
  const made = (await listConnectionRows(sql))
    .filter((row) => row.adapter !== null && !row.simulated && row.name !== name)
    .map((row) => [row.name, openKept(secrets, row).current] as const);
  const { provider } = config;
  const live = { clientId: provider?.clientId ?? '', pixKey: provider?.pixKey ?? '' };
  const others: (readonly [string, Readonly<Record<string, string>>])[] = [...made, ['live', live]];
  for (const [other, theirs] of others) {
    const same = accountMembers.find(
      (member) => credentials[member] && credentials[member] === theirs[member],
    );
    if (same)
      throw new CredentialFault(
        `${same}: is that of the connection ${other}; one account takes one connection`,
      );
  }
}

/** The same by what the provider says of the account. @throws CredentialFault that names the other connection */
async function requireNewAccount(
  { sql }: Pick<ConnectionDeps, 'sql'>,
  name: string,
  identity: string,
): Promise<void> {
  const other = (await listConnectionRows(sql)).find((row) => row.identity === identity && row.name !== name);
  if (other)
    throw new CredentialFault(
      `the account is that of the connection ${other.name}; one account takes one connection`,
    );
}

function requireName(name: string): void {
  if (!isConnectionName(name))
    throw new CredentialFault('name: takes 2 to 40 small letters, digits and hyphens, a letter first');
  if (isOfEnvironment(name) || name === 'none')
    throw new CredentialFault(`name: ${name} is the connection of the environment's settings`);
}

/** Other credentials, which become the current ones; those before are kept until the next change. */
export function rotateCredentials(
  deps: ConnectionDeps,
  name: string,
  file: unknown,
): Promise<ConnectionView> {
  return change(deps, name, 'connection.rotate', async (row, adapter) => {
    const kept = openKept(deps.secrets, row);
    const { simulated } = row;
    const now = deps.clock.now();
    // A file that names some members changes those: a renewed certificate needs no other secret.
    const { credentials, certificateExpiresAt } = checkedCredentials(adapter, merged(kept.current, file), {
      simulated,
      now,
    });
    if (!simulated) await requireOwnAccount(deps, name, credentials);
    const identity = await requireAccepted(deps, adapter, row, credentials);
    if (!simulated) await requireNewAccount(deps, name, identity);
    const both = { current: credentials, previous: kept.current };
    return { ...row, credentials: sealKept(deps.secrets, name, both), certificateExpiresAt, identity };
  });
}

/** Back to the credentials before the last change. @throws OperatorRefused there are none */
export function restoreCredentials(deps: ConnectionDeps, name: string): Promise<ConnectionView> {
  return change(deps, name, 'connection.rotate_back', async (row, adapter) => {
    const { current, previous } = openKept(deps.secrets, row);
    if (previous === null) throw new OperatorRefused('there are no credentials from before');
    const { simulated } = row;
    const { certificateExpiresAt } = checkedCredentials(adapter, previous, {
      simulated,
      now: deps.clock.now(),
    });
    const identity = await requireAccepted(deps, adapter, row, previous);
    const both = { current: previous, previous: current };
    return { ...row, credentials: sealKept(deps.secrets, name, both), certificateExpiresAt, identity };
  });
}

/** A new certificate comes without the key of another form, and the other way round. */
function merged(current: Readonly<Record<string, string>>, file: unknown): unknown {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) return file;
  const { certificate: _, certificateKey: _key, certificatePassphrase: _pass, ...others } = current;
  return 'certificate' in file ? { ...others, ...file } : { ...current, ...file };
}

/** @throws OperatorRefused several accounts are bound to what shall be `own` */
export function setConnection(
  deps: ConnectionDeps,
  name: string,
  wanted: { mode?: Mode; url?: string },
): Promise<ConnectionView> {
  return change(deps, name, 'connection.set', async (row, adapter) => {
    const { mode = row.mode } = wanted;
    if (mode === 'own' && row.accounts > 1)
      throw new OperatorRefused(`${row.accounts} accounts are bound to it: own takes one`);
    if (mode === 'own') requireNotRouted(row);
    if (wanted.url === undefined) return { ...row, mode };
    if (row.simulated) throw new OperatorRefused("the simulator's address is SIMULATOR_URL");
    const url = requireSafeUrl(wanted.url);
    requireEnvironment(adapter, url, row.test);
    const { current } = openKept(deps.secrets, row);
    const identity = await requireAccepted(deps, adapter, { ...row, url }, current);
    await requireNewAccount(deps, name, identity);
    return { ...row, mode, url, identity };
  });
}

/** Nothing new goes over it. What is open on it is followed to its end. @throws OperatorRefused accounts are bound to it */
export function retireConnection(deps: ConnectionDeps, name: string): Promise<ConnectionView> {
  return change(deps, name, 'connection.retire', async (row) => {
    if (row.accounts > 0)
      throw new OperatorRefused(
        `${row.accounts} accounts are bound to it: move them first (vintem account move)`,
      );
    requireNotRouted(row);
    return { ...row, state: 'retired' };
  });
}

function requireNotRouted({ routed }: ConnectionRow): void {
  if (routed > 0)
    throw new OperatorRefused(
      `${routed} accounts have it in their list for charges: change those first (vintem account route)`,
    );
}

async function change(
  deps: ConnectionDeps,
  name: string,
  action: string,
  changed: (row: ConnectionRow, adapter: Adapter) => Promise<ConnectionRow>,
): Promise<ConnectionView> {
  const before = await findConnectionRow(deps.sql, name);
  if (!before) throw new OperatorRefused(`no connection ${name}`);
  if (before.adapter === null)
    throw new OperatorRefused(`${name} is made by the settings of the environment: change those`);
  // Asked of the provider outside of the transaction, so that no row is locked for as long as it takes to answer.
  const after = await changed(before, adapterNamed(before.adapter));
  await deps.sql.tx(async (tx) => {
    const row = await lockConnection(tx, name);
    if (row?.version !== before.version || row.accounts !== before.accounts || row.routed !== before.routed)
      throw new OperatorRefused('it was changed at the same moment: try again');
    await requireSameOrFree(tx, before, after.identity);
    await updateConnection(tx, after);
    await record(deps, tx, action, name, { mode: after.mode, state: after.state });
  });
  return showConnection(deps, name);
}

async function record(
  { ids, clock, actor }: Operator,
  tx: Transaction,
  action: string,
  subject: string,
  detail: object,
): Promise<void> {
  const row = {
    accountId: installationId,
    id: ids.uuid(),
    at: clock.now(),
    actor,
    action,
    subject,
    reason: null,
    detail,
  };
  await writeAudit(tx, row);
}

/** The checks before a connection is stored. */
const decisive: ReadonlySet<Finding['check']> = new Set(['certificate', 'token', 'pix key']);

/** @returns the account behind the credentials @throws OperatorRefused the provider does not accept them, or does not name the account */
async function requireAccepted(
  deps: ConnectionDeps,
  adapter: Adapter,
  row: Pick<ConnectionRow, 'name' | 'test' | 'simulated' | 'url'>,
  credentials: Readonly<Record<string, string>>,
): Promise<string> {
  const provider = adapter.create(settingsOf(deps, adapter, row, credentials), deps);
  const faults = decisiveFaults(await provider.diagnose({ webhookUrl: deps.config.hooksUrl }));
  // The simulator of this installation may start later.
  if (faults.length === 0 || row.simulated) return identityBehind(provider);
  throw new OperatorRefused(faults.map(({ check, ...said }) => `${check}: ${sentenceOf(said)}`).join('\n'));
}

/** Those with which no payment can work. */
export const decisiveFaults = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ check, ok }) => !ok && decisive.has(check));

/** A fault, and its remedy. */
export const sentenceOf = ({ message, action }: Pick<Finding, 'message' | 'action'>): string =>
  action === undefined ? message : `${message}; ${action}`;

/** The provider's answer to the credentials of a stored connection. @throws OperatorRefused no such connection */
export async function testConnection(
  deps: ConnectionDeps,
  name: string,
): Promise<ConnectionView & { findings: Finding[] }> {
  const row = await findConnectionRow(deps.sql, name);
  if (!row) throw new OperatorRefused(`no connection ${name}`);
  if (row.adapter === null)
    throw new OperatorRefused(`${name} is made by the settings of the environment: vintem check tests it`);
  const findings = await providerOfRow(deps, row).diagnose({ webhookUrl: deps.config.hooksUrl });
  return { ...viewOf(row), findings: findings.filter(({ check }) => check !== 'webhook') };
}

/**
 * Binds an account to another connection, for new payments. What was sent over the old one has ended there, and what still comes of it
 * (a late payment, a return) is found there: payments and journals name their connection.
 * @throws OperatorRefused no such account or connection, something is open, or the connection takes no account
 */
export async function moveAccount(
  operator: Operator,
  accountId: string,
  name: string,
): Promise<{ ownerId: string; connection: string }> {
  await operator.sql.tx(async (tx) => {
    const account = await lockAccount(tx, accountId);
    if (!account) throw new OperatorRefused('no such account');
    if (account.connection === name) throw new OperatorRefused(`it is bound to ${name} already`);
    await requireFree(tx, name, account.test);
    const open = await findOpenOf(tx, accountId);
    if (open.payments || open.drafts)
      throw new OperatorRefused(
        `the account has ${open.payments ? 'unfinished payments' : 'drafts'}: disable it, wait until they have ended, and move it then`,
      );
    await bindAccount(tx, accountId, name);
    await record(operator, tx, 'account.move', accountId, { from: account.connection, to: name });
  });
  return { ownerId: accountId, connection: name };
}

/** More would be no routing but a search for a provider that is up. */
const fallbackMost = 4;

/**
 * Where new charges of an account go, in this order, while the breaker of its own connection is open; empty: nowhere. Charges that are
 * committed stay where they are.
 * @throws OperatorRefused a connection cannot take charges of this account
 */
export async function routeCharges(
  operator: Operator,
  accountId: string,
  names: readonly string[],
): Promise<{ ownerId: string; connection: string; charges: readonly string[] }> {
  if (new Set(names).size !== names.length) throw new OperatorRefused('a connection is named twice');
  if (names.length > fallbackMost) throw new OperatorRefused(`at most ${fallbackMost} connections`);
  const connection = await operator.sql.tx(async (tx) => {
    const account = await lockAccount(tx, accountId);
    if (!account) throw new OperatorRefused('no such account');
    for (const name of names) await requireRoutable(tx, name, account);
    await setChargeFallback(tx, accountId, names);
    await record(operator, tx, 'account.route', accountId, { charges: names });
    return account.connection;
  });
  return { ownerId: accountId, connection, charges: names };
}

async function requireRoutable(
  tx: Transaction,
  name: string,
  account: { connection: string; test: boolean },
): Promise<void> {
  if (name === account.connection) throw new OperatorRefused(`the account is bound to ${name} already`);
  const row = await lockConnection(tx, name);
  if (!row) throw new OperatorRefused(`no connection ${name}`);
  if (row.state === 'retired') throw new OperatorRefused(`${name} is retired`);
  if (row.mode === 'own') throw new OperatorRefused(`${name} belongs to one account: its mode is own`);
  if (row.test !== account.test)
    throw new OperatorRefused(`${name} and ${account.connection} do not both move money`);
}

/**
 * Holds the connection for the transaction in which an account is bound to it. @returns whether its accounts are test accounts
 * @throws OperatorRefused there is none, it is retired, another account has it for itself, or money moves on one side alone
 */
export async function requireFree(tx: Transaction, name: string, test: boolean | null): Promise<boolean> {
  const row = await lockConnection(tx, name);
  if (!row) throw new OperatorRefused(`no connection ${name}`);
  if (row.state === 'retired') throw new OperatorRefused(`${name} is retired`);
  if (test !== null && row.test !== test)
    throw new OperatorRefused(
      row.test
        ? `${name} moves no money, and the account is a live one`
        : `${name} moves money, and the account is a test account`,
    );
  if (row.mode === 'own' && (row.accounts > 0 || (await hasOpenPayments(tx, name))))
    throw new OperatorRefused(`${name} belongs to one account, and another one is bound to it`);
  return row.test;
}
