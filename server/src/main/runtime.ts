import { type Addresses, addressRulesOf, createAddresses } from '../events/webhooks/address.ts';
import { type Breakers, createBreakers } from '../flow/breaker.ts';
import { createOutcomeWatch, type OutcomeWatch } from '../flow/outcome-watch.ts';
import type { Sender } from '../flow/send.ts';
import { validityOf } from '../ground/certificate.ts';
import { type Config, isTrial } from '../ground/config.ts';
import type { Log } from '../ground/log.ts';
import { createMail, type Mail } from '../ground/mail.ts';
import { createMeasures, type Measures } from '../ground/measures.ts';
import { createPageAddresses, type PageAddresses } from '../ground/page-address.ts';
import type { RefreshingCache } from '../ground/refreshing-cache.ts';
import type { Secrets } from '../ground/secrets.ts';
import { createSignal, type Signal } from '../ground/signal.ts';
import type { Traces } from '../ground/traces.ts';
import { findTestAccount } from '../operate/connections/directory.ts';
import { type Examined, examineConnections } from '../operate/connections/doctor.ts';
import { type Connections, keepConnections } from '../operate/connections/keep.ts';
import { noteCertificate } from '../operate/monitored.sql.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Net } from '../ports/net.ts';
import type { Sql } from '../ports/sql.ts';
import { type ConnectionSettings, placeOf } from '../provider/adapter.ts';
import { measured } from '../provider/measured.ts';
import type { Finding, Provider } from '../provider/provider.ts';
import { type AdapterName, adapters } from '../provider/registry/adapters.ts';
import { homeCell } from '../store/database/cells.ts';
import type { ClockOffset } from '../store/database/clock-offset.ts';
import type { Pool } from '../store/database/pool.ts';
import { type SubscribedTypes, subscribedTypes } from '../store/events/subscribed-types.ts';
import { keepPageKey, sealedPageKey } from '../store/rows/page-key.ts';
import { createTill, type Till } from '../store/till.ts';
import { type Cells, createCells } from './cells.ts';

/** The settings and ports of a process. */
export interface Ground {
  config: Config;
  sql: Sql;
  clock: Clock;
  ids: Ids;
  net: Net;
  secrets: Secrets;
  log: Log;
  /** Absent: this process works on the first cell alone. */
  openCell?: OpenCell;
  /** Of the process; absent: what needs it compares the clock itself. */
  clockOffset?: ClockOffset;
}

/** The parts of a process, shared by its `api` and its `worker`. */
export interface Runtime extends Omit<Ground, 'config'> {
  /** The schema of its accounts; what is here of the database works on them alone. */
  cell: string;
  /** The schemas of the others, as far as the process knows them. */
  otherCells: () => readonly string[];
  /** All of them. */
  cells: Cells<Runtime>;
  till: Till;
  measures: Measures;
  /** Null: switched off. */
  traces: Traces | null;
  /** The installation's identity secret: payment ids and fingerprints. */
  identity: Buffer;
  /** Addresses of public pages. */
  pages: PageAddresses;
  /** By connection. */
  providers: ReadonlyMap<string, Provider>;
  /** The same, and those that come while the process runs. */
  connections: Connections;
  /** The findings of `vintem doctor` at a connection. */
  examine(connection: string): Promise<readonly Finding[]>;
  /** Whether anything is to be read from it. */
  isInUse(provider: Provider): Promise<boolean>;
  breakers: Breakers;
  settings: Settings;
  /** Which events are written of an account. */
  subscribed: RefreshingCache<SubscribedTypes>;
  /** Where the provider of test accounts listens. */
  simulatorUrl: string;
  /** Where the audit log is sent to; null: nowhere. */
  auditForward: Config['auditForward'];
  /** Where merchants' webhooks may go. */
  addresses: Addresses;
  mail: Mail;
  /** Aborted when the process drains: waits are cut, nothing new is begun. */
  draining: AbortSignal;
  /** The senders beside the callers in this process, by connection; none without a worker. */
  senders: Map<string, Sender>;
  /** Payments whose `pending` is kept back for a moment: who applies their end takes them out, and it is never written. */
  deferredPending: Set<string>;
  /** Callers that wait for an outcome. */
  outcomes: OutcomeWatch;
  /** Something became due: the worker of this process listens, if there is one. */
  wake: Signal;
  /** Events were committed: the publisher beside this process listens, if there is one. */
  eventsWritten: Signal;
}

export interface Settings {
  /** How long `POST /pix/transfers` waits for the provider; 0 leaves the sending to the workers. */
  transferWaitMs: number;
  /** Charges always wait: a charge is of use only with its code. */
  chargeWaitMs: number;
  /** The life that is asked of the provider for a charge. */
  chargeExpirySeconds: number;
  /** The public page of a charge. */
  pageOf(accountNumber: number, paymentId: string): string;
  /** How long a payment that a provider took may be missing in its lists. */
  listLagMs: number;
}

/** The receiving key of every test account. */
const simulatorPixKey = 'vintem@simulator.example';

/** Opens a pool on a cell. */
export type OpenCell = (cell: string) => Pick<Pool, keyof Sql | 'close'>;

/**
 * Puts a process together over a migrated database.
 * @param unmeasured by connection
 * @returns the runtime of the first cell; `cells` has those of the others
 */
export async function openRuntime(
  ground: Ground,
  draining: AbortSignal,
  unmeasured: ReadonlyMap<string, Provider> = providersOf(ground),
): Promise<Runtime> {
  const { config, sql, clock, log } = ground;
  const [installation] = await sql.run<{ identity: Buffer; pageKey: Buffer | null }>({
    name: 'installation_identity',
    text: `SELECT identity_secret AS identity, ${sealedPageKey} AS "pageKey" FROM installation`,
  });
  if (!installation) throw new Error('the installation has no row: its migrations have not run');
  const measures = createMeasures();
  // The packages are read only where there is a collector.
  const traces = config.tracing && (await import('./tracing.ts')).createTraces(config.tracing);
  const wrap = (provider: Provider): Provider => measured(provider, { clock, log, measures, traces });
  const ofEnvironment = new Map([...unmeasured].map(([name, provider]) => [name, wrap(provider)]));
  const connections = keepConnections({ ...ground, wrap }, ofEnvironment);
  await connections.refresh();
  for (const { settings } of settingsOfEnvironment(ground))
    await noteCertificate(
      sql,
      settings.name,
      settings.certificate && validityOf(settings.certificate).untilMs,
    );
  const cells = createCells<Runtime>(sql);
  const pages = createPageAddresses(await keepPageKey(ground, installation.pageKey), config.checkoutUrl);
  const home: Runtime = {
    ...ground,
    cells,
    ...partsOfCell({ ...ground, cells, measures, traces }, homeCell, sql),
    measures,
    traces,
    identity: installation.identity,
    pages,
    providers: connections.providers,
    connections,
    examine: examinerOf(ground),
    isInUse: useOf(ground),
    breakers: createBreakers({ sql, clock, log }),
    settings: {
      transferWaitMs: config.transferWaitMs,
      chargeWaitMs: 6_000,
      chargeExpirySeconds: config.chargeExpirySeconds,
      listLagMs: config.listLagSeconds * 1_000,
      pageOf: (accountNumber, id) => pages.of('charge', accountNumber, id),
    },
    draining,
    simulatorUrl: config.simulatorUrl,
    auditForward: config.auditForward,
    addresses: createAddresses(addressRulesOf(config), ground.net),
    mail: createMail(config, ground),
  };
  cells.begin(home, (cell) => {
    if (!ground.openCell) throw new Error(`this process cannot work on ${cell}`);
    const pool = ground.openCell(cell);
    return { runtime: { ...home, ...partsOfCell(home, cell, pool) }, close: pool.close };
  });
  await cells.refresh();
  return home;
}

const examinerOf =
  (ground: Ground): Runtime['examine'] =>
  async (connection) => {
    const ofEnvironment = await examinedOfEnvironment(ground);
    const examined = await examineConnections({ ...ground, actor: 'vintem', ofEnvironment }, connection);
    return examined.flatMap(({ findings }) => findings);
  };

/** How soon the first test account brings the simulator into use. */
const useLookMs = 2_000;

/**
 * The simulator is in use only where there are test accounts. Without them it need not run, and failed readings would be reported as the
 * outage of a provider.
 */
function useOf({ config, sql, clock }: Ground): Runtime['isInUse'] {
  let simulates = isTrial(config);
  let lookAt = 0;
  return async ({ connection, identity }) => {
    if (identity === null) return false;
    if (connection !== 'simulator' || simulates) return true;
    if (clock.monotonicMs() < lookAt) return false;
    simulates = (await findTestAccount(sql)) !== null;
    lookAt = clock.monotonicMs() + useLookMs;
    return simulates;
  };
}

/** The parts of a cell. */
function partsOfCell(
  { cells, clock, log, measures, traces }: Pick<Runtime, 'cells' | 'clock' | 'log' | 'measures' | 'traces'>,
  cell: string,
  sql: Sql,
) {
  const otherCells = (): readonly string[] =>
    cells
      .all()
      .map((one) => one.cell)
      .filter((one) => one !== cell);
  return {
    cell,
    otherCells,
    sql,
    till: createTill({ sql, clock, log, measures, traces, otherCells }),
    subscribed: subscribedTypes({ sql, clock }),
    senders: new Map<string, Sender>(),
    deferredPending: new Set<string>(),
    outcomes: createOutcomeWatch({ sql, clock, log }),
    wake: createSignal(),
    eventsWritten: createSignal(),
  };
}

/** Those that the settings of the environment make, by connection. Opens no connection before the first call. */
export function providersOf(ground: Omit<Ground, 'sql' | 'ids'>): Map<string, Provider> {
  return new Map(
    settingsOfEnvironment(ground).map(({ adapter, settings }) => [
      settings.name,
      adapters[adapter].create(settings, ground),
    ]),
  );
}

/** The same as they are examined; the simulator's only where its accounts are in use. */
export async function examinedOfEnvironment(
  ground: Omit<Ground, 'ids'>,
): Promise<ReadonlyMap<string, Examined>> {
  const usesSimulator = isTrial(ground.config) || (await findTestAccount(ground.sql)) !== null;
  return new Map(
    settingsOfEnvironment(ground)
      .filter(({ settings }) => settings.name !== 'simulator' || usesSimulator)
      .map(({ adapter, settings }) => [
        settings.name,
        { provider: adapters[adapter].create(settings, ground), certificate: settings.certificate },
      ]),
  );
}

function settingsOfEnvironment({
  config,
  secrets,
}: Pick<Ground, 'config' | 'secrets'>): { adapter: AdapterName; settings: ConnectionSettings }[] {
  const simulator: ConnectionSettings = {
    name: 'simulator',
    test: true,
    simulated: true,
    url: config.simulatorUrl,
    credentials: {
      clientId: 'vintem',
      clientSecret: secrets.derive('simulator client').toString('hex'),
      pixKey: simulatorPixKey,
    },
    certificate: null,
  };
  const made: { adapter: AdapterName; settings: ConnectionSettings }[] = [
    { adapter: 'efi', settings: simulator },
  ];
  const live = config.provider;
  if (live === null) return made;
  const { adapter, url, clientId, clientSecret, pixKey, webhookTrust, webhookSecret } = live;
  // Its accounts would be live ones, with play money in their balances.
  if (placeOf(adapters[adapter], url) === 'test')
    throw new Error(
      "PROVIDER_URL is the provider's test environment: leave PROVIDER out, and make a connection with `vintem connection create --sandbox`",
    );
  const passphrase = live.certificatePassphrase;
  const settings: ConnectionSettings = {
    name: 'live',
    test: false,
    simulated: false,
    url,
    credentials: {
      clientId,
      clientSecret,
      pixKey,
      webhookTrust,
      ...(webhookSecret === null ? {} : { webhookSecret }),
    },
    certificate: live.certificate && {
      pfx: live.certificate,
      ...(passphrase === null ? {} : { passphrase }),
    },
  };
  return [...made, { adapter, settings }];
}
