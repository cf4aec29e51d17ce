import { reachableHost } from '../ground/config.ts';
import { checkMail } from '../ground/mail.ts';
import { hasSecret, loadSecrets, secretProblem } from '../ground/secrets.ts';
import { askReceiver } from '../operate/audit/forward.ts';
import { type ConnectionRow, listConnectionRows } from '../operate/connections/connections.sql.ts';
import { decisiveFaults, environmentOf, sentenceOf } from '../operate/connections/connections.ts';
import { providerOfRow } from '../operate/connections/credentials.ts';
import { examineHold } from '../operate/connections/held.ts';
import { findForeignAccounts, holderWarning } from '../operate/connections/holders.ts';
import type { Sql } from '../ports/sql.ts';
import { createUndiciNet } from '../ports/undici-net.ts';
import type { Provider } from '../provider/provider.ts';
import { missingSecrets } from '../store/database/installation-secret.ts';
import { planMigrations } from '../store/database/migrate.ts';
import { databaseOfCommand, type OpenDatabase } from '../store/database/open.ts';
import { openPool } from '../store/database/pool.ts';
import { checkServiceRole } from '../store/database/roles.ts';
import { checkMaker } from '../store/database/service-login.ts';
import { createWriteProbe } from '../store/database/writes.ts';
import { examinedOfEnvironment } from './runtime.ts';
import { type Edge, migrateOptions, withServiceLogin } from './start.ts';

export interface Check {
  name: string;
  ok: boolean;
  message: string;
}

/**
 * The checks of an operator before traffic comes: settings, database, migrations, rights, secret, connections, mail. Changes
 * nothing and moves no money, so it may run at any time, also as a readiness gate.
 */
export async function checkInstallation(edge: Edge): Promise<Check[]> {
  const { config } = edge;
  const checks: Check[] = [{ name: 'settings', ok: true, message: 'all settings can be read' }];
  let database: OpenDatabase;
  try {
    database = await databaseOfCommand(edge, 'check');
  } catch (error) {
    return [...checks, failed('database', error), await checkOf('mail', () => checkMail(config))];
  }
  try {
    const server = await checkOf('database', () => databaseAnswers(edge, database));
    checks.push(server);
    if (server.ok) checks.push(...(await checkInside(edge, database)));
  } finally {
    await database.close();
  }
  return [...checks, await checkOf('mail', () => checkMail(config)), ...(await checkReceiver(config))];
}

/** Of the audit log, where it is sent to one. */
async function checkReceiver({ auditForward }: Pick<Edge['config'], 'auditForward'>): Promise<Check[]> {
  if (auditForward === null) return [];
  const net = createUndiciNet();
  try {
    return [await checkOf('audit forward', () => askReceiver(net, auditForward, liveWithinMs))];
  } finally {
    await net.close();
  }
}

/** `check --live`: whether the process of these settings answers on this machine, and nothing else. */
export async function checkLive({ config }: Pick<Edge, 'config'>): Promise<Check[]> {
  const url = `http://${reachableHost(config.host)}:${config.metricsPort ?? config.port}/healthz`;
  const net = createUndiciNet();
  try {
    return [
      await checkOf('process', async () => {
        const { status } = await net.request({ method: 'GET', url, headers: {}, timeoutMs: liveWithinMs });
        if (status !== 200) throw new Error(`${url} answered ${status}`);
        return `${url} answers`;
      }),
    ];
  } finally {
    await net.close();
  }
}

/** Image and probes give a check 5 s. */
const liveWithinMs = 3_000;

async function checkInside(edge: Edge, given: OpenDatabase): Promise<Check[]> {
  const { config, log } = edge;
  // The service's own login: a process that serves has no other. Where it is missing, the first start makes it.
  const found = await withServiceLogin(edge, given);
  const { url, own } = found ?? given;
  const options = migrateOptions(edge, { url, migrationUrl: undefined });
  let isEmpty = false;
  const migrations = await checkOf('migrations', async () => {
    const pending = (await planMigrations(options)).map(({ name }) => name);
    isEmpty = pending[0]?.startsWith('0001_') ?? false;
    if (isEmpty)
      throw new Error(
        `run \`vintem migrate\`: ${pending[0]} to ${pending.at(-1)} must be applied, all of them`,
      );
    if (pending.length > 0) throw new Error(`run \`vintem migrate\`: ${pending.join(', ')} must be applied`);
    return 'all are applied';
  });
  // Without its roles the service could not even connect.
  if (isEmpty)
    return [migrations, failed('rights', new Error('the roles of the service are made by `vintem migrate`'))];
  const sql = openPool({ url, log, name: 'vintem check', size: 2 });
  try {
    const rights = await checkOf('rights', async () => {
      await checkServiceRole(sql, { log, own });
      if (found === null) await checkMaker(given);
      if (!(await createWriteProbe({ sql, clock: edge.clock })()))
        throw new Error('the database cannot write');
      return 'the service can write, and cannot change journals';
    });
    if (!rights.ok) return [migrations, rights];
    const secret = await checkOf('secret', () => secretFits(edge, sql));
    return [migrations, rights, secret, ...(secret.ok ? await connections(edge, sql) : [])];
  } finally {
    await sql.close();
  }

  async function connections({ clock, ids }: Edge, sql: Sql): Promise<Check[]> {
    const net = createUndiciNet();
    try {
      const secrets = await loadSecrets(ids, config);
      const ground = { config, clock, net, secrets, log, sql };
      const ofEnvironment = await examinedOfEnvironment(ground);
      const stored = await listConnectionRows(sql);
      const rows = stored.filter((row) => row.adapter && row.state === 'active');
      const foreign = (await findForeignAccounts(sql)).map((one) => ({
        name: `holder of ${one.connection}`,
        ...{ ok: true, message: holderWarning(one).message },
      }));
      const live = rows.filter(({ test }) => !test).map(({ name }) => name);
      const asked = await Promise.all([
        ...[...ofEnvironment].map(([name, { provider }]) => {
          const row = stored.find((one) => one.name === name);
          return checkConnection({ sql, name, row }, async () => provider);
        }),
        ...rows.map((row) =>
          checkConnection({ sql, name: row.name, row }, async () => providerOfRow(ground, row)),
        ),
      ]);
      return [...asked, ...foreign, ...(live.length > 0 ? operatorMail(config, live) : [])];
    } finally {
      await net.close();
    }
  }

  function checkConnection(
    { sql, name, row }: { sql: Sql; name: string; row: ConnectionRow | undefined },
    open: () => Promise<Provider>,
  ): Promise<Check> {
    return checkOf(`connection ${name}`, async () => {
      const provider = await open();
      const hold = row && (await examineHold(sql, row, provider));
      if (hold) throw new Error(sentenceOf(hold));
      const findings = await provider.diagnose({ webhookUrl: config.hooksUrl });
      const [fault] = decisiveFaults(findings);
      if (fault) throw new Error(sentenceOf(fault));
      const scopes = findings.find(({ check, ok }) => check === 'scopes' && !ok);
      const place = row && environmentOf(row) === 'sandbox' ? ' of its test environment' : '';
      const accepts = `the provider accepts the credentials${place}`;
      return scopes ? `${accepts}; ${scopes.message}` : accepts;
    });
  }
}

/** Where real money moves, incidents reach a person of their own address and not the sender of all mails. */
const operatorMail = (
  { smtpUrl, operatorEmail }: Pick<Edge['config'], 'smtpUrl' | 'operatorEmail'>,
  live: readonly string[],
): Check[] =>
  smtpUrl === null || operatorEmail !== null
    ? []
    : [
        {
          name: 'operator mail',
          ok: false,
          message: `set OPERATOR_EMAIL: the live connections ${live.join(', ')} need somewhere to report incidents`,
        },
      ];

/** A login that can connect, to a server that is new enough. */
async function databaseAnswers({ log }: Edge, { url }: OpenDatabase): Promise<string> {
  // Without the service's role, which the first `migrate` makes.
  const sql = openPool({ url, log, name: 'vintem check', size: 1, role: 'none' });
  try {
    const [row] = await sql.run<{ version: string; number: number }>({
      name: 'check_version',
      text: `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number`,
    });
    if (!row || row.number < 150_000)
      throw new Error(`PostgreSQL 15 or newer is needed, not ${row?.version}`);
    return `PostgreSQL ${row.version} answers`;
  } finally {
    await sql.close();
  }
}

async function secretFits({ config, ids }: Edge, sql: Sql): Promise<string> {
  const problem = await secretProblem(config);
  if (problem !== null) throw new Error(problem);
  if (!(await hasSecret(config))) {
    const [installation] = await sql.run<{ id: string | null }>({
      name: 'check_secret',
      text: 'SELECT secret_id AS id FROM installation',
    });
    if (installation?.id) throw new Error('this installation has a secret: set it in VINTEM_SECRET');
    return 'none yet: the first start generates one in DATA_DIR';
  }
  const missing = await missingSecrets({ sql, secrets: await loadSecrets(ids, config) });
  if (missing.length > 0)
    throw new Error(`the database needs secrets that are not set: ${missing.join(', ')}`);
  return 'it opens what is stored';
}

async function checkOf(name: string, check: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, message: await check() };
  } catch (error) {
    return failed(name, error);
  }
}

/** Two addresses of one name fail together, in an error without a message; the reason of a lost connection is its cause. */
function failed(name: string, error: unknown): Check {
  const { message, code, cause } = error as NodeJS.ErrnoException;
  const reason = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : undefined;
  const said = message || code || 'failed';
  return { name, ok: false, message: reason && !said.includes(reason) ? `${said}: ${reason}` : said };
}
