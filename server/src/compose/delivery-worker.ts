import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { databaseClock, watchClock } from '../db/clock-offset.ts';
import { openPool } from '../db/pool.ts';
import { readConfig } from '../ground/config.ts';
import { createLog } from '../ground/log.ts';
import { createMail } from '../ground/mail.ts';
import { deliveryMeasuresOver } from '../ground/measures.ts';
import { loadSecrets } from '../ground/secrets.ts';
import { systemClock } from '../ports/clock.ts';
import { systemIds } from '../ports/ids.ts';
import { createUndiciNet } from '../ports/undici-net.ts';
import { addressRulesOf, createAddresses } from '../webhooks/address.ts';
import { runDeliveries } from '../webhooks/delivery-loop.ts';
import type { DeliveryMessage, DeliveryThreadOptions } from './delivery-thread.ts';

/** The body of the thread that `outgoing.ts` starts. */
const port = parentPort as MessagePort;
const { databaseUrl, memory } = workerData as DeliveryThreadOptions;
const config = readConfig(process.env);
const log = createLog(config.logLevel);
const sql = openPool({ url: databaseUrl, log, name: 'vintem outgoing', size: 5 });
const net = createUndiciNet();
const stopping = new AbortController();
const { clock, measured } = databaseClock({ sql, clock: systemClock, log }, stopping.signal);
const ids = systemIds(clock);
const clockOffset = watchClock({ sql, clock, log }, stopping.signal);
await measured;
const outgoing = runDeliveries(
  {
    sql,
    clock,
    ids,
    net,
    log,
    secrets: await loadSecrets(ids, config),
    measures: { deliveries: deliveryMeasuresOver(memory) },
    addresses: createAddresses(addressRulesOf(config), net),
    mail: createMail(config, { clock, ids, sql }),
  },
  clockOffset.isTolerable,
);
port.on('message', (message: DeliveryMessage) => {
  if (message === 'written') outgoing.written();
  else void stop();
});

async function stop(): Promise<void> {
  stopping.abort();
  await outgoing.stop();
  await sql.close();
  // Of a thread this ends the thread. Attempts that are still under way are cut, and made again.
  process.exit();
}
