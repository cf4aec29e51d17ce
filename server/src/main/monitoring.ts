import { createServer, type ServerResponse } from 'node:http';
import { securityHeaders } from '../edge/security-headers.ts';
import type { Log } from '../ground/log.ts';
import type { Readiness } from './readiness.ts';

export interface MonitoringDeps {
  log: Log;
  readiness: Readiness;
  /** The metrics as text. */
  metrics: { contentType: string; metrics(): Promise<string> };
  /** Aborted when the process drains: it is not ready any more. */
  draining: AbortSignal;
}

/**
 * `/metrics`, `/healthz` and `/readyz` on a port of their own (`METRICS_PORT`, off by default), for every kind of process: a worker has no
 * other port. `/healthz` does not ask the database: an outage of the database must not restart every process.
 */
export async function serveMonitoring(
  { log, readiness, metrics, draining }: MonitoringDeps,
  { host, port }: { host: string; port: number },
): Promise<{ stop(): Promise<void> }> {
  const json = (answer: ServerResponse, status: number, body: object): void => {
    answer.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
  };
  const server = createServer(async (request, answer) => {
    for (const [name, value] of Object.entries(securityHeaders)) answer.setHeader(name, value);
    const path = request.method === 'GET' ? request.url : undefined;
    if (path === '/healthz') return json(answer, 200, { ok: true });
    if (path === '/readyz') {
      const problems = draining.aborted ? ['the process is stopping'] : await readiness();
      return json(answer, problems.length === 0 ? 200 : 503, { ok: problems.length === 0, problems });
    }
    if (path !== '/metrics') return void answer.writeHead(404).end();
    try {
      const text = await metrics.metrics();
      answer.writeHead(200, { 'content-type': metrics.contentType }).end(text);
    } catch (error) {
      log.warn({ err: error }, 'metrics could not be read');
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
