import { type SubscribedTypes, subscribedTypes } from '../events/subscribed-types.ts';
import type { Config } from '../ground/config.ts';
import type { Log } from '../ground/log.ts';
import { createMail, type Mail } from '../ground/mail.ts';
import { createMeasures, type Measures } from '../ground/measures.ts';
import type { RefreshingCache } from '../ground/refreshing-cache.ts';
import type { Secrets } from '../ground/secrets.ts';
import { createSignal, type Signal } from '../ground/signal.ts';
import { createTill, type Till } from '../ledger/till.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { Net } from '../ports/net.ts';
import type { Sql } from '../ports/sql.ts';
import { createEfiProvider } from '../provider/efi.ts';
import { measured } from '../provider/measured.ts';
import type { Provider } from '../provider/provider.ts';
import { type Breakers, createBreakers } from '../settlement/dispatch/breaker.ts';
import { prepareLimits } from '../settlement/dispatch/limit.ts';
import type { Sender } from '../settlement/dispatch/send.ts';
import { createOutcomeWatch, type OutcomeWatch } from '../settlement/tracking/outcome-watch.ts';
import { type Addresses, addressRulesOf, createAddresses } from '../webhooks/address.ts';

/** What the world hands to a process: settings and the ports. */
export interface Ground {
  config: Config;
  sql: Sql;
  clock: Clock;
  ids: Ids;
  net: Net;
  secrets: Secrets;
  log: Log;
}

/** What the use cases and the settlement stand on. One per process, shared by its `api` and its `worker`. */
export interface Runtime extends Omit<Ground, 'config'> {
  till: Till;
  measures: Measures;
  /** The installation's identity secret: payment ids and fingerprints. */
  identity: Buffer;
  /** By connection: `simulator`, `live`. */
  providers: ReadonlyMap<string, Provider>;
  breakers: Breakers;
  settings: Settings;
  /** Which events are written of an account. */
  subscribed: RefreshingCache<SubscribedTypes>;
  /** Where merchants' webhooks may go. */
  addresses: Addresses;
  mail: Mail;
  /** Aborted when the process drains: waits are cut, nothing new is begun. */
  draining: AbortSignal;
  /** What sends beside the callers in this process, by connection; none without a worker. */
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
}

/** The receiving key of every test account. */
const simulatorPixKey = 'vintem@simulator.example';

/** Puts a process together over a migrated database. */
export async function openRuntime(ground: Ground, draining: AbortSignal): Promise<Runtime> {
  const { config, sql, clock, log } = ground;
  const [installation] = await sql.run<{ identity: Buffer }>({
    name: 'installation_identity',
    text: 'SELECT identity_secret AS identity FROM installation',
  });
  if (!installation) throw new Error('the installation has no row: its migrations have not run');
  const measures = createMeasures();
  const providers = new Map(
    [...providersOf(ground)].map(([name, provider]) => [name, measured(provider, { clock, measures })]),
  );
  for (const { connection, capabilities } of providers.values()) {
    await prepareLimits(sql, connection, capabilities.maxParallelSends);
  }
  return {
    ...ground,
    measures,
    till: createTill({ sql, clock, log, measures }),
    identity: installation.identity,
    providers,
    breakers: createBreakers({ sql, clock, log }),
    settings: {
      transferWaitMs: config.transferWaitMs,
      chargeWaitMs: 6_000,
      chargeExpirySeconds: config.chargeExpirySeconds,
    },
    draining,
    subscribed: subscribedTypes(ground),
    addresses: createAddresses(addressRulesOf(config), ground.net),
    mail: createMail(config, ground),
    senders: new Map(),
    deferredPending: new Set(),
    outcomes: createOutcomeWatch(ground),
    wake: createSignal(),
    eventsWritten: createSignal(),
  };
}

/** By connection. Opens no connection before the first call. */
export function providersOf({
  config,
  net,
  clock,
  log,
  secrets,
}: Omit<Ground, 'sql' | 'ids'>): Map<string, Provider> {
  const providers = new Map<string, Provider>();
  const simulatorSecret = secrets.derive('simulator client').toString('hex');
  const simulator = createEfiProvider({
    connection: 'simulator',
    baseUrl: config.simulatorUrl,
    clientId: 'vintem',
    clientSecret: simulatorSecret,
    pixKey: simulatorPixKey,
    webhook: { trust: 'signed', secret: simulatorSecret },
    net,
    clock,
    log,
  });
  providers.set(simulator.connection, simulator);
  const live = config.provider;
  if (live) {
    const { certificate, certificatePassphrase, webhookTrust, webhookSecret } = live;
    const provider = createEfiProvider({
      connection: 'live',
      baseUrl: live.url,
      clientId: live.clientId,
      clientSecret: live.clientSecret,
      pixKey: live.pixKey,
      ...(certificate
        ? {
            certificate: {
              pfx: certificate,
              ...(certificatePassphrase ? { passphrase: certificatePassphrase } : {}),
            },
          }
        : {}),
      webhook:
        webhookTrust === 'signed'
          ? { trust: webhookTrust, secret: webhookSecret ?? '', header: 'x-provider-signature' }
          : { trust: webhookTrust },
      net,
      clock,
      log,
    });
    providers.set(provider.connection, provider);
  }
  return providers;
}
