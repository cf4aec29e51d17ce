import type { AddressInfo } from 'node:net';
import { createCharge } from './charges/create.ts';
import type { Config } from './config.ts';
import { watchClock } from './db/clock-offset.ts';
import type { House } from './house.ts';
import { buildServer } from './http/server.ts';
import type { Provider } from './provider/provider.ts';
import { refreshIfOverdue } from './settlement/follow-up.ts';
import { findWebhookToken } from './settlement/inbound.sql.ts';
import { createInbound } from './settlement/inbound.ts';
import { createTransfer } from './transfers/create.ts';

/** The HTTP side of the service; `house.draining` begins its end. */
export interface Api {
  url: string;
  /** Resolves when every open request is answered and every delivery that was received is applied. */
  stop(): Promise<void>;
}

export async function runApi(house: House, config: Config): Promise<Api> {
  const stopping = new AbortController();
  const clockOffset = watchClock(house, stopping.signal);
  const inbound = createInbound(house);
  const server = buildServer({
    ...house,
    config,
    useCases: {
      createCharge: (caller, request) => createCharge(house, caller, request),
      createTransfer: (caller, request) => createTransfer(house, caller, request),
      refreshIfOverdue: (payment) => refreshIfOverdue(house, payment),
      receiveWebhook: (delivery) => inbound.receive(delivery),
    },
    readiness: async () => {
      const problems = clockOffset.isTolerable() ? [] : ['the clock differs from the database'];
      return (await answers(house)) ? problems : [...problems, 'the database does not answer'];
    },
  });
  await server.listen({ host: config.host, port: config.port });
  const { port } = server.server.address() as AddressInfo;
  for (const provider of house.providers.values())
    void register(house, provider, config.publicUrl, stopping.signal);
  return {
    url: `http://${config.host}:${port}`,
    stop: async () => {
      stopping.abort();
      await server.close();
      await inbound.idle();
      await house.till.idle();
    },
  };
}

/** Whether the database answers and its migrations have run. */
const answers = (house: House): Promise<boolean> =>
  house.sql.run({ name: 'ready', text: 'SELECT 1 FROM installation' }).then(
    (rows) => rows.length === 1,
    () => false,
  );

/** Tells the provider where to deliver, until it has heard: it may start after us. */
async function register(
  house: House,
  provider: Provider,
  publicUrl: string,
  stopping: AbortSignal,
): Promise<void> {
  for (let waitMs = 250; !stopping.aborted; waitMs = Math.min(waitMs * 2, 60_000)) {
    try {
      const token = await findWebhookToken(house.sql, provider.connection);
      await provider.registerWebhook(`${publicUrl}/hooks/providers/${provider.connection}/${token}`);
      return;
    } catch (error) {
      house.log.warn(
        { err: error, connection: provider.connection },
        'our webhook address is not registered yet',
      );
      await house.clock.sleep(waitMs, stopping);
    }
  }
}
