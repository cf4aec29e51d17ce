import { readFile } from 'node:fs/promises';
import type { Gauge as PlainGauge, Registry } from 'prom-client';
import { restsAfter } from '../events/webhooks/schedule.ts';
import type { Histogram } from '../ground/histogram.ts';
import type { Log } from '../ground/log.ts';
import { deliveryOutcomes, type Measures } from '../ground/measures.ts';
import { outgoingPriorities, queryPriorities, sendPriority } from '../money/intent.ts';
import { type Clock, systemClock } from '../ports/clock.ts';
import { inNextTurn, type LoopLag, watchLoopLag } from '../ports/event-loop.ts';
import type { Sql } from '../ports/sql.ts';
import type { ClockOffset } from '../store/database/clock-offset.ts';
import type { BudgetLoad } from '../store/database/connection-budget.ts';
import type { Readiness } from './readiness.ts';

export interface MetricsDeps {
  sql: Sql;
  /** Of every cell, the first one included. */
  cells: { all(): readonly { sql: Sql }[] };
  clock: Pick<Clock, 'monotonicMs'>;
  measures: Measures;
  clockOffset: Pick<ClockOffset, 'offsetMs'>;
  readiness: Readiness;
  log: Log;
  pool: () => BudgetLoad;
  /** `DATABASE_STANDBYS` */
  databaseStandbys: number | null;
  /** `AUDIT_FORWARD_URL` */
  auditForward: object | null;
}

const togetherBy = {
  'cells: sum': (one: number, other: number) => one + other,
  'cells: most': (one: number, other: number) => Math.max(one, other),
  'cells: least': (one: number, other: number) => Math.min(one, other),
};

/** A gauge that statements over the whole database answer: every process reports the same value, so rules take `max`, never `sum`. */
interface DatabaseGauge {
  /** Read in the directory, or in every cell: then counts are added, and of times the most urgent is shown. */
  of: 'directory' | keyof typeof togetherBy;
  name: string;
  help: string;
  labels: string[];
  text: string;
}

const auditLag = 'audit_forward_lag_seconds';

const databaseGauges: readonly DatabaseGauge[] = [
  {
    name: 'open_payments',
    of: 'cells: sum',
    help: 'Payments that are still sent or followed',
    labels: ['connection', 'kind', 'state'],
    text: `SELECT connection, kind, state, count(*) AS value FROM intent GROUP BY connection, kind, state`,
  },
  {
    name: 'open_payments_by_age',
    of: 'cells: sum',
    help: 'Payments that are still sent or followed, by how long they have been open: at most 1m, 10m, 1h, 1d, or longer (old)',
    labels: ['connection', 'kind', 'age'],
    text: `SELECT connection, kind, CASE WHEN created_at > now() - interval '1 minute' THEN '1m'
        WHEN created_at > now() - interval '10 minutes' THEN '10m' WHEN created_at > now() - interval '1 hour' THEN '1h'
        WHEN created_at > now() - interval '1 day' THEN '1d' ELSE 'old' END AS age, count(*) AS value
      FROM intent GROUP BY 1, 2, 3`,
  },
  {
    name: 'oldest_due_seconds',
    of: 'cells: most',
    help: 'How long the most overdue send or query has been due',
    labels: ['connection'],
    // The first entry of an index for each priority, and not a look at every row: what is late is counted when most is open.
    text: `WITH known AS MATERIALIZED (SELECT id FROM connection)
      SELECT connection, GREATEST(extract(epoch FROM clock_timestamp() - min(due_at)), 0)::double precision AS value
      FROM (SELECT c.id AS connection, (SELECT min(i.due_at) FROM intent i WHERE i.connection = c.id AND i.priority = p.priority) AS due_at
        FROM known c CROSS JOIN unnest(ARRAY[${[sendPriority, ...queryPriorities].join(', ')}]) AS p (priority)) AS first
      WHERE due_at IS NOT NULL GROUP BY connection`,
  },
  {
    name: 'unknown_oldest_seconds',
    of: 'cells: most',
    help: 'Age of the oldest transfer that the provider has not confirmed to know',
    labels: ['connection'],
    // By the queues that transfers wait in, so that no charge that waits for its payer is read.
    text: `SELECT connection, extract(epoch FROM clock_timestamp() - min(created_at))::double precision AS value
      FROM (${outgoingPriorities
        .map(
          (
            priority,
          ) => `SELECT i.connection, i.created_at FROM connection c JOIN intent i ON i.connection = c.id AND i.priority = ${priority}
          WHERE i.kind = 'transfer' AND NOT i.known`,
        )
        .join(' UNION ALL ')}) u GROUP BY connection`,
  },
  {
    name: 'open_incidents',
    of: 'cells: sum',
    help: 'Incidents that a person has to look at',
    labels: ['kind'],
    text: `SELECT kind, count(*) AS value FROM incident WHERE state = 'open' GROUP BY kind`,
  },
  {
    name: 'breaker_open',
    of: 'directory',
    help: 'Whether a kind of call to a provider is refused',
    labels: ['connection', 'call'],
    text: `SELECT connection, call, open::int AS value FROM breaker`,
  },
  {
    name: 'withdrawals_paused',
    of: 'directory',
    help: 'Whether an operator has paused the withdrawals of the installation',
    labels: [],
    text: `SELECT (withdrawals_paused_at IS NOT NULL)::int AS value FROM installation`,
  },
  {
    name: 'statement_lag_seconds',
    of: 'directory',
    help: 'How far behind the present the reading of the statement of a provider is',
    labels: ['connection'],
    text: `SELECT id AS connection, GREATEST(extract(epoch FROM clock_timestamp() - statement_read_to), 0)::double precision AS value
      FROM connection WHERE statement_read_to IS NOT NULL
        AND (id <> 'simulator' OR EXISTS (SELECT FROM account WHERE test AND number > 0))`,
  },
  {
    name: 'statement_lines_set_aside',
    of: 'directory',
    help: 'Lines of the statement of a provider that could not be answered',
    labels: ['connection'],
    text: `SELECT connection, count(*) AS value FROM statement_line WHERE tries > 0 GROUP BY connection`,
  },
  {
    name: 'unread_items',
    of: 'directory',
    help: 'Items that a provider sent and that cannot be read',
    labels: ['connection', 'kind'],
    text: `SELECT connection, kind, count(*) AS value FROM unread_item WHERE dismissed_at IS NULL GROUP BY connection, kind`,
  },
  {
    name: 'connection_held',
    of: 'directory',
    help: 'Whether a process holds a connection because another account stands behind it than before',
    labels: ['connection'],
    text: `SELECT id AS connection, (held_since IS NOT NULL)::int AS value FROM connection WHERE state = 'active'`,
  },
  {
    name: 'deliveries_waiting',
    of: 'directory',
    help: 'Deliveries of providers that are stored and not applied',
    labels: ['connection'],
    text: `SELECT connection, count(*) AS value FROM inbound WHERE applied_at IS NULL AND authentic GROUP BY connection`,
  },
  {
    name: 'outbox_lag_seconds',
    of: 'cells: most',
    help: 'Age of the oldest committed event that is not published',
    labels: [],
    text: `SELECT COALESCE(GREATEST(extract(epoch FROM clock_timestamp() - min(created_at)), 0), 0)::double precision AS value FROM event_fresh`,
  },
  {
    name: 'webhook_oldest_due_seconds',
    of: 'cells: most',
    help: 'How long the delivery that has waited longest for an attempt has been due, of endpoints that do not rest',
    labels: [],
    // Of an endpoint that is served without a break its queue is due since that began: its first deliveries say how late it is.
    text: `SELECT COALESCE(GREATEST(extract(epoch FROM clock_timestamp() - min(least(f.created_at, r.due_at))), 0), 0)::double precision AS value
      FROM webhook_lane l
        JOIN webhook_endpoint w ON w.account_id = l.account_id AND w.id = l.endpoint_id AND w.failed_attempts < ${restsAfter}
        LEFT JOIN LATERAL (SELECT d.created_at FROM webhook_delivery d
          WHERE d.account_id = l.account_id AND d.endpoint_id = l.endpoint_id AND d.status = 'pending' AND d.due_at IS NULL
          ORDER BY d.seq LIMIT 1) f ON true
        LEFT JOIN LATERAL (SELECT d.due_at FROM webhook_delivery d
          WHERE d.account_id = l.account_id AND d.endpoint_id = l.endpoint_id AND d.status = 'pending' AND d.due_at IS NOT NULL
          ORDER BY d.due_at LIMIT 1) r ON true
      WHERE l.due_at <= clock_timestamp()`,
  },
  {
    name: 'acts_of_one',
    of: 'directory',
    help: 'Acts of two people that one did at the shell, and that no operator has seen yet',
    labels: [],
    text: `SELECT count(*)::integer AS value FROM operator_request WHERE state = 'alone'`,
  },
  {
    name: auditLag,
    of: 'cells: most',
    help: 'Age of the oldest row of the audit log that its receiver has not taken, where AUDIT_FORWARD_URL is set',
    labels: [],
    text: `SELECT COALESCE(GREATEST(extract(epoch FROM clock_timestamp()) - min(a.chained_ms) / 1000.0, 0), 0)::double precision AS value
      FROM audit_chain c JOIN audit a ON a.account_id = c.account_id AND a.seq = c.forwarded_seq + 1
      WHERE c.forwarded_seq < c.seq`,
  },
  {
    name: 'verify_ok',
    of: 'directory',
    help: 'Whether the last verify over all accounts found nothing broken',
    labels: [],
    text: `SELECT verified_ok::int AS value FROM installation WHERE verified_ok IS NOT NULL`,
  },
  {
    name: 'verify_age_seconds',
    of: 'directory',
    help: 'Since the last verify over all accounts; since the installation was made, while there was none',
    labels: [],
    text: `SELECT GREATEST(extract(epoch FROM clock_timestamp() - COALESCE(verified_at, created_at)), 0)::double precision AS value
      FROM installation`,
  },
  {
    name: 'backup_age_seconds',
    of: 'directory',
    help: 'Age of the newest copy that the backup command made; of the installation, while there is none',
    labels: [],
    text: `SELECT GREATEST(extract(epoch FROM clock_timestamp() - COALESCE(backed_up_at, created_at)), 0)::double precision AS value
      FROM installation`,
  },
  {
    name: 'dispute_deadline_seconds',
    of: 'cells: least',
    help: 'Time to the next deadline of an unanswered dispute; negative after the deadline',
    labels: ['connection'],
    text: `SELECT connection, extract(epoch FROM min(deadline_at) - clock_timestamp())::double precision AS value
      FROM dispute d WHERE ended_at IS NULL AND status = 'open' AND deadline_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM dispute_defence f WHERE f.account_id = d.account_id AND f.dispute_id = d.id AND f.status = 'completed')
      GROUP BY connection`,
  },
  {
    name: 'certificate_expires_seconds',
    of: 'directory',
    help: 'Until the certificate of a connection expires',
    labels: ['connection'],
    text: `SELECT id AS connection, extract(epoch FROM certificate_expires_at - clock_timestamp())::double precision AS value
      FROM connection WHERE certificate_expires_at IS NOT NULL AND state = 'active'`,
  },
  {
    name: 'provider_balance_cents',
    of: 'directory',
    help: "What can be paid out of the provider's account, as it said within the last hour",
    labels: ['connection'],
    text: `SELECT id AS connection, balance_cents AS value FROM connection
      WHERE balance_read_at > clock_timestamp() - interval '1 hour' AND state = 'active'`,
  },
  {
    name: 'provider_blocked_cents',
    of: 'directory',
    help: "What is in the provider's account and may not be paid out, as it said within the last hour: judicial, med, total",
    labels: ['connection', 'kind'],
    text: `SELECT c.id AS connection, k.kind, k.value FROM connection c
        CROSS JOIN LATERAL (VALUES ('judicial', c.blocked_judicial_cents), ('med', c.blocked_med_cents), ('total', c.blocked_total_cents))
          AS k (kind, value)
      WHERE c.balance_read_at > clock_timestamp() - interval '1 hour' AND c.state = 'active' AND k.value IS NOT NULL`,
  },
  {
    name: 'disputed_cents',
    of: 'cells: sum',
    help: 'Amounts of disputes that have not ended',
    labels: ['connection'],
    text: `SELECT connection, sum(amount_cents)::double precision AS value FROM dispute WHERE ended_at IS NULL GROUP BY connection`,
  },
  {
    name: 'open_payout_cents',
    of: 'cells: sum',
    help: 'Open transfers and refunds that the provider has not said to have',
    labels: ['connection'],
    text: `SELECT i.connection, sum(COALESCE(p.amount_cents - p.fee_cents, r.amount_cents))::double precision AS value
      FROM intent i
        LEFT JOIN payment p ON p.account_id = i.account_id AND p.id = i.payment_id
        LEFT JOIN refund r ON r.account_id = i.account_id AND r.id = i.payment_id
      WHERE i.kind IN ('transfer', 'refund') AND COALESCE(p.status, r.status) <> 'pending' GROUP BY i.connection`,
  },
  {
    // Of every operation, and read as rarely as the open payments are. `reserved` counts: it leaves the account yet.
    name: 'withdrawable_cents',
    of: 'cells: sum',
    help: 'What merchants may withdraw, or have asked to, over the connection of their account',
    labels: ['connection'],
    text: `SELECT a.connection, sum(b.available + b.reserved)::double precision AS value
      FROM account a JOIN balance b ON b.account_id = a.id WHERE a.number > 0 AND b.available + b.reserved > 0 GROUP BY a.connection`,
  },
  {
    name: 'cash_in_transit_cents',
    of: 'directory',
    help: 'What acquirers paid out, and what has not arrived at the connection that it goes to',
    labels: ['connection'],
    text: `SELECT connection, sum(amount_cents)::double precision AS value FROM cash_transfer
      WHERE to_connection IS NOT NULL AND (arrival IS NULL AND own_at IS NULL) = (returned_at IS NULL) AND returned_at IS NULL
      GROUP BY connection`,
  },
  {
    name: 'replication_lag_seconds',
    of: 'directory',
    help: 'How far a standby of the database is behind, where the owner of the schema may see it',
    labels: ['standby'],
    text: `SELECT standby, seconds AS value FROM replication_lag()`,
  },
  {
    name: 'standbys',
    of: 'directory',
    help: 'Standbys of the database that replay its log, as far as the owner of the schema may see them',
    labels: [],
    text: `SELECT replaying_standbys() AS value`,
  },
];

/** However many ask, the database is asked this often. */
const databaseEveryMs = 10_000;
/**
 * A read of every open payment runs less often where there are many, so that it takes a three-hundredth of the time: with half a million
 * open, asking every ten seconds took 8 to 70 % of the CPU of the transfers beside it.
 */
const restOfReading = 300;
const databaseAtLeastEveryMs = 120_000;

/** Samples that prom-client takes itself, of which none is read. */
const neverMs = 2 ** 31 - 1;

/** The package samples a hundred times a second, also while nothing happens. The names are its own. */
function replaceLoopLag(registry: Registry, Gauge: typeof import('prom-client').Gauge): void {
  const readLag = watchLoopLag();
  const nameOf = (of: string): string => `vintem_nodejs_eventloop_lag_${of}seconds`;
  const make = (of: string, help: string, collect?: (this: PlainGauge) => Promise<void>): PlainGauge => {
    registry.removeSingleMetric(nameOf(of));
    return new Gauge({ name: nameOf(of), help, registers: [registry], ...(collect && { collect }) });
  };
  let gauges: { of: keyof LoopLag; gauge: PlainGauge }[] = [];
  // Read first, and sets the others: they are of one reading.
  make('', 'Lag of the event loop now.', async function () {
    const lag = readLag();
    for (const { of, gauge } of gauges) gauge.set(lag[of]);
    const began = systemClock.monotonicMs();
    await new Promise<void>((done) => inNextTurn(done));
    this.set((systemClock.monotonicMs() - began) / 1e3);
  });
  gauges = (['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'] as const).map((of) => ({
    of,
    gauge: make(`${of}_`, `Lag of the event loop, ${of}.`),
  }));
}

/**
 * The metrics of a process, read when they are asked for. The process counts in plain counters while it works (`ground/measures.ts`);
 * the database answers for the whole installation. docs/operators/metrics.md lists them, and a test holds it against this registry.
 */
export async function createMetrics(deps: MetricsDeps): Promise<Registry> {
  const { collectDefaultMetrics, Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'vintem_', eventLoopMonitoringPrecision: neverMs });
  replaceLoopLag(registry, Gauge);
  const readGauge = databaseReadings(deps);
  for (const { name, help, labels } of databaseGauges) {
    new Gauge({
      name: `vintem_${name}`,
      help,
      labelNames: labels,
      registers: [registry],
      async collect() {
        this.reset();
        // Without labels a reset leaves a zero, which would be an answer.
        if (labels.length === 0) this.remove();
        if (name === auditLag && deps.auditForward === null) return;
        for (const { value, ...rest } of await readGauge(name))
          this.set(rest as Record<string, string>, value);
      },
    });
  }
  const gauge = (name: string, help: string, read: () => number | null): void => {
    new Gauge({
      name: `vintem_${name}`,
      help,
      registers: [registry],
      collect() {
        const value = read();
        if (value !== null) this.set(value);
      },
    });
  };
  const { measures, clockOffset, pool } = deps;
  gauge('clock_offset_seconds', 'The clock of the database minus that of this machine', () => {
    const offsetMs = clockOffset.offsetMs();
    return offsetMs === null ? null : offsetMs / 1000;
  });
  gauge(
    'standbys_expected',
    'Standbys that the database should have: DATABASE_STANDBYS',
    () => deps.databaseStandbys,
  );
  gauge('pool_connections', 'Open connections to the database', () => pool().open);
  gauge('pool_idle', 'Connections to the database that wait for work', () => pool().idle);
  gauge('pool_most', 'Connections that may be open at most', () => pool().most);
  gauge('pool_waiting', 'Calls that wait for a connection to the database', () => pool().waiting);
  new Gauge({
    name: 'vintem_ready',
    help: 'Whether the process can do its work, as /readyz answers',
    registers: [registry],
    async collect() {
      this.set((await deps.readiness()).length === 0 ? 1 : 0);
    },
  });
  const { version } = JSON.parse(await readFile(packageFile, 'utf8')) as { version: string };
  const build = new Gauge({
    name: 'vintem_build_info',
    help: 'The version of the program and of Node; always 1',
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  build.set({ version, node: process.versions.node }, 1);
  for (const metric of measured(measures)) registry.registerMetric(metric as never);
  return registry;
}

const packageFile = new URL('../../package.json', import.meta.url);

type Row = { value: number } & Record<string, string>;

/** Rows of several cells under the same labels are one. */
function together(rows: readonly Row[], add: (one: number, other: number) => number): Row[] {
  const byLabels = new Map<string, Row>();
  for (const row of rows) {
    const { value, ...labels } = row;
    const key = JSON.stringify(labels);
    const before = byLabels.get(key);
    byLabels.set(key, Object.assign({}, row, { value: before ? add(before.value, value) : value }));
  }
  return [...byLabels.values()];
}

interface Reading {
  /** Monotonic: until then its rows are the answer. */
  untilMs: number;
  rows: Promise<readonly Row[]>;
}

/**
 * Each gauge of the database, at most every ten seconds. Without the database they have no lines, and the rest of the metrics is
 * served: that is when they are wanted most.
 */
export function databaseReadings({
  sql,
  cells,
  clock,
  log,
}: Pick<MetricsDeps, 'sql' | 'cells' | 'clock' | 'log'>): (name: string) => Promise<readonly Row[]> {
  const readings = new Map<string, Reading>();
  let saidAtMs = Number.NEGATIVE_INFINITY;
  const rowsOf = async ({ name, text, of }: DatabaseGauge): Promise<Row[]> => {
    const statement = { name: `metric_${name}`, text };
    if (of === 'directory') return sql.run<Row>(statement);
    const ofCells = await Promise.all(cells.all().map((cell) => cell.sql.run<Row>(statement)));
    return together(ofCells.flat(), togetherBy[of]);
  };
  const failed = (error: unknown): Row[] => {
    if (clock.monotonicMs() - saidAtMs >= databaseEveryMs) {
      saidAtMs = clock.monotonicMs();
      log.warn({ err: error }, 'the metrics of the database could not be read');
    }
    return [];
  };
  const read = (gauge: DatabaseGauge): Reading => {
    const beganMs = clock.monotonicMs();
    const reading: Reading = { untilMs: beganMs + databaseEveryMs, rows: Promise.resolve([]) };
    const slowly = (rows: Row[]): Row[] => {
      const restMs = Math.min(restOfReading * (clock.monotonicMs() - beganMs), databaseAtLeastEveryMs);
      reading.untilMs = Math.max(reading.untilMs, beganMs + restMs);
      return rows;
    };
    reading.rows = rowsOf(gauge).then(slowly, failed);
    readings.set(gauge.name, reading);
    return reading;
  };
  const gauges = new Map(databaseGauges.map((gauge) => [gauge.name, gauge]));
  return (name) => {
    const last = readings.get(name);
    if (last && clock.monotonicMs() < last.untilMs) return last.rows;
    return read(gauges.get(name) as DatabaseGauge).rows;
  };
}

/** prom-client's own histograms look up their labels for each value; these are filled from ours when they are read. */
function measured(measures: Measures) {
  const { requests, tillWait, tillFlush, tillBatch, providerCalls, providerErrors } = measures;
  const { deliveries, shed, notOurs } = measures;
  const named = (name: string, value: string) => ({ [name]: value });
  const histograms = (
    name: string,
    help: string,
    all: () => Iterable<{ labels: Record<string, string>; histogram: Histogram }>,
  ) => ({
    name: `vintem_${name}`,
    get: async () => ({
      name: `vintem_${name}`,
      help,
      type: 'histogram' as never,
      aggregator: 'sum',
      values: [...all()].flatMap((one) => valuesOf(`vintem_${name}`, one)),
    }),
  });
  const one = (histogram: Histogram) => () => [{ labels: {}, histogram }];
  const of = (family: Measures['requests']) => () =>
    [...family.all()].map(({ labels, histogram }) => ({
      histogram,
      labels: Object.assign({}, ...labels.map((value, at) => named(family.labelNames[at] as string, value))),
    }));
  return [
    histograms('http_request_seconds', 'From the arrival of a request to its answer', of(requests)),
    histograms(
      'till_wait_seconds',
      'From the call of the till to its answer, its flush included',
      one(tillWait),
    ),
    histograms('till_flush_seconds', 'Duration of a transaction of the till', one(tillFlush)),
    histograms('till_batch_size', 'Commands in a transaction of the till', one(tillBatch)),
    histograms(
      'provider_call_seconds',
      'Duration of calls to a provider, tokens included',
      of(providerCalls),
    ),
    histograms(
      'provider_error_seconds',
      'Duration of calls to a provider that were answered with an error, by its name of the error',
      of(providerErrors),
    ),
    histograms(
      'delivery_seconds',
      'Duration of attempts to deliver to merchants; pending: another attempt follows',
      () =>
        deliveryOutcomes.map((outcome) => ({
          labels: { outcome },
          histogram: deliveries.byOutcome[outcome],
        })),
    ),
    {
      name: 'vintem_shed_total',
      get: async () => ({
        name: 'vintem_shed_total',
        help: 'Calls that were refused under overload',
        type: 'counter' as never,
        aggregator: 'sum',
        values: [{ value: shed.count, labels: {} }],
      }),
    },
    {
      name: 'vintem_deliveries_not_ours_total',
      get: async () => ({
        name: 'vintem_deliveries_not_ours_total',
        help: 'Deliveries of providers that are for no connection of this installation, or do not name its account',
        type: 'counter' as never,
        aggregator: 'sum',
        values: [
          { value: notOurs.unknownConnection, labels: { reason: 'unknown_connection' } },
          { value: notOurs.notAddressed, labels: { reason: 'not_addressed' } },
        ],
      }),
    },
  ];
}

function valuesOf(
  name: string,
  { labels, histogram }: { labels: Record<string, string>; histogram: Histogram },
) {
  const { counts, count, sum } = histogram.read();
  const buckets = counts.map((value, at) => ({
    metricName: `${name}_bucket`,
    value,
    labels: { ...labels, le: String(histogram.bounds[at] ?? '+Inf') },
  }));
  return [
    ...buckets,
    { metricName: `${name}_sum`, value: sum, labels },
    { metricName: `${name}_count`, value: count, labels },
  ];
}
