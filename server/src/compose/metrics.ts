import type { Registry } from 'prom-client';
import type { Runtime } from './runtime.ts';

/**
 * The metrics of a process. Gauges are read when they are asked for, from the process and from the database: nothing is added to the
 * path of a payment.
 */
export async function createMetrics(runtime: Pick<Runtime, 'sql'>): Promise<Registry> {
  const { collectDefaultMetrics, Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'vintem_' });

  const gauge = (name: string, help: string, labelNames: string[], text: string): void => {
    new Gauge({
      name: `vintem_${name}`,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        this.reset();
        const rows = await runtime.sql.run<{ value: number } & Record<string, string>>({
          name: `metric_${name}`,
          text,
        });
        for (const { value, ...labels } of rows) this.set(labels as Record<string, string>, value);
      },
    });
  };
  gauge(
    'open_payments',
    'Payments that are still sent or followed',
    ['connection', 'kind', 'state'],
    `SELECT connection, kind, state, count(*) AS value FROM intent GROUP BY connection, kind, state`,
  );
  gauge(
    'oldest_due_seconds',
    'How long the most overdue send or query has been due',
    ['connection'],
    `SELECT connection, GREATEST(extract(epoch FROM clock_timestamp() - min(due_at)), 0)::double precision AS value
      FROM intent GROUP BY connection`,
  );
  gauge(
    'open_incidents',
    'Incidents that a person has to look at',
    ['kind'],
    `SELECT kind, count(*) AS value FROM incident WHERE state = 'open' GROUP BY kind`,
  );
  gauge(
    'breaker_open',
    'Whether a kind of call to a provider is refused',
    ['connection', 'call'],
    `SELECT connection, call, open::int AS value FROM breaker`,
  );
  gauge(
    'statement_lines_set_aside',
    'Lines of the statement of a provider that could not be answered',
    ['connection'],
    `SELECT connection, count(*) AS value FROM statement_line WHERE tries > 0 GROUP BY connection`,
  );
  gauge(
    'deliveries_waiting',
    'Deliveries of providers that are stored and not applied',
    ['connection'],
    `SELECT connection, count(*) AS value FROM inbound WHERE applied_at IS NULL AND authentic GROUP BY connection`,
  );
  return registry;
}
