import { createServer } from 'node:http';
import { securityHeaders } from '../http/security-headers.ts';
import type { Runtime } from './runtime.ts';

/**
 * Prometheus metrics on a port of their own (`METRICS_PORT`, off by default). What is counted is read when it is asked for,
 * from the process and from the database: nothing is added to the path of a payment.
 */
export async function serveMetrics(
  runtime: Pick<Runtime, 'sql' | 'log'>,
  { host, port }: { host: string; port: number },
): Promise<{ stop(): Promise<void> }> {
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

  const server = createServer(async (request, answer) => {
    for (const [name, value] of Object.entries(securityHeaders)) answer.setHeader(name, value);
    if (request.method !== 'GET' || request.url !== '/metrics') return void answer.writeHead(404).end();
    try {
      const text = await registry.metrics();
      answer.writeHead(200, { 'content-type': registry.contentType }).end(text);
    } catch (error) {
      runtime.log.warn({ err: error }, 'metrics could not be read');
      answer.writeHead(503).end();
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
