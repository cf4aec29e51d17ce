import type { AddressInfo } from 'node:net';
import { createLargeTransfers } from '../accounts/large-transfers.ts';
import { createCharge } from '../charges/create.ts';
import { watchClock } from '../db/clock-offset.ts';
import { type Config, reachableHost } from '../ground/config.ts';
import { answerWithinMs } from '../ground/deadline.ts';
import { createLoad } from '../http/load.ts';
import { buildServer, type UseCases } from '../http/server.ts';
import { emptyCommand } from '../ledger/till.ts';
import { mountPanel } from '../panel/panel.ts';
import type { Provider } from '../provider/provider.ts';
import { paymentIdFor } from '../request-keys/idempotency.ts';
import { createRequestLog } from '../request-log/request-log.ts';
import { refreshIfOverdue } from '../settlement/tracking/follow-up.ts';
import { findWebhookTokens } from '../settlement/tracking/inbound.sql.ts';
import { createInbound } from '../settlement/tracking/inbound.ts';
import { createTransfer } from '../transfers/create.ts';
import { cancelDraft, confirmDraft } from '../transfers/draft.ts';
import { createReadiness, inTime } from './readiness.ts';
import type { Runtime } from './runtime.ts';

/** The HTTP side of the service; `runtime.draining` begins its end. */
export interface Api {
  url: string;
  /** Resolves when every open request is answered and every delivery that was received is applied. */
  stop(): Promise<void>;
}

export async function runApi(runtime: Runtime, config: Config): Promise<Api> {
  const stopping = new AbortController();
  const clockOffset = watchClock(runtime, stopping.signal);
  const inbound = createInbound(runtime);
  const largeTransfers = createLargeTransfers(runtime);
  const useCases: UseCases = {
    createCharge: (caller, request) => createCharge(runtime, caller, request),
    createTransfer: async (caller, request) => {
      const accepted = await createTransfer(runtime, caller, request);
      if (!accepted.replayed) largeTransfers.note(accepted.payment);
      return accepted;
    },
    confirmDraft: (caller, id, code) => confirmDraft(runtime, caller, id, code),
    cancelDraft: (caller, id) => cancelDraft(runtime, caller, id),
    // A query takes from limits that all processes share: not on a machine whose clock is wrong.
    refreshIfOverdue: async (payment) =>
      clockOffset.isTolerable() ? refreshIfOverdue(runtime, payment) : payment,
    receiveWebhook: inbound,
  };
  const requestLog = createRequestLog({
    ...runtime,
    paymentIdOf: (account, requestKey) => paymentIdFor(runtime.identity, account, requestKey),
  });
  const server = buildServer({
    ...runtime,
    config,
    mayShare: clockOffset.isTolerable,
    useCases,
    requestLog,
    load: createLoad(runtime.clock, () => waitForTurn(runtime), answerWithinMs),
    readiness: createReadiness(runtime, clockOffset),
  });
  mountPanel(server, { ...runtime, config, mayShare: clockOffset.isTolerable }, useCases);
  await clockOffset.measured;
  await server.listen({ host: config.host, port: config.port });
  const { port } = server.server.address() as AddressInfo;
  const answered = new AbortController();
  const logging = requestLog.run(answered.signal);
  const tried = [...runtime.providers.values()].map(
    (provider) =>
      new Promise<void>((done) => void register(runtime, provider, config.publicUrl, stopping.signal, done)),
  );
  // Registers before "ready", so that payments right after it arrive by webhook. A slow or failed provider delays the start only briefly.
  await inTime(
    runtime.clock,
    startsWithinMs,
    Promise.all(tried).then(() => true),
  );
  return {
    url: `http://${reachableHost(config.host)}:${port}`,
    stop: async () => {
      stopping.abort();
      await server.close();
      answered.abort();
      await logging;
      await inbound.idle();
      await runtime.till.idle();
    },
  };
}

/** Resolves when a command submitted now would be decided by the till. */
export const waitForTurn = ({ till, ids, clock }: Pick<Runtime, 'till' | 'ids' | 'clock'>): Promise<void> =>
  till.submit(emptyCommand(ids.uuid(), clock.monotonicMs() + answerWithinMs));

/** No start waits longer for its providers; they are asked again until they answer. */
const startsWithinMs = 2_000;

/** How soon a provider hears of an address that was changed. */
const addressLookMs = 30_000;

/** Tells the provider where to deliver, until it has heard (it may start after us), and again when the address was changed. */
async function register(
  runtime: Runtime,
  provider: Provider,
  publicUrl: string,
  stopping: AbortSignal,
  tried: () => void,
): Promise<void> {
  let [registered, waitMs] = ['', 250];
  while (!stopping.aborted) {
    try {
      const token = (await findWebhookTokens(runtime.sql, provider.connection))?.current ?? '';
      if (token !== registered)
        await provider.registerWebhook(`${publicUrl}/hooks/providers/${provider.connection}/${token}`);
      [registered, waitMs] = [token, 250];
      tried();
      await runtime.clock.sleep(addressLookMs, stopping);
    } catch (error) {
      tried();
      if (stopping.aborted) return;
      runtime.log.warn(
        { err: error, connection: provider.connection },
        'our webhook address is not registered yet',
      );
      await runtime.clock.sleep(waitMs, stopping);
      waitMs = Math.min(waitMs * 2, 60_000);
    }
  }
}
