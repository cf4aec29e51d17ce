import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { addressRulesOf, createAddresses } from '../events/webhooks/address.ts';
import { type Outgoing, runDeliveries } from '../events/webhooks/delivery-loop.ts';
import { readConfig } from '../ground/config.ts';
import { createLog } from '../ground/log.ts';
import { createMail } from '../ground/mail.ts';
import { deliveryMeasuresOver } from '../ground/measures.ts';
import { loadSecrets } from '../ground/secrets.ts';
import { systemClock } from '../ports/clock.ts';
import { systemIds } from '../ports/ids.ts';
import { createUndiciNet } from '../ports/undici-net.ts';
import { homeCell } from '../store/database/cells.ts';
import { databaseClock } from '../store/database/clock-offset.ts';
import { deliveryBudget, openPool, type Pool } from '../store/database/pool.ts';
import type { DeliveryMessage, DeliveryThreadOptions } from './delivery-thread.ts';
import { slowdownOf } from './shares.ts';

/** The body of the thread that `delivery-thread.ts` starts. */
const port = parentPort as MessagePort;
const { databaseUrl, memory, hearsAll } = workerData as DeliveryThreadOptions;
const config = readConfig(process.env);
const log = createLog(config.logLevel);
const budget = deliveryBudget();
const sql = openPool({ url: databaseUrl, log, name: 'vintem outgoing', size: 5, budget });
const net = createUndiciNet();
const stopping = new AbortController();
const { clock, measured, watch } = databaseClock({ sql, clock: systemClock, log }, stopping.signal);
const ids = systemIds(clock);
await measured;
const clockOffset = watch();
// Of this thread: it shares no memory with the others.
const traces = config.tracing && (await import('./tracing.ts')).createTraces(config.tracing);
const secrets = await loadSecrets(ids, config);
const shared = {
  clock,
  ids,
  net,
  log,
  secrets,
  traces,
  addresses: createAddresses(addressRulesOf(config), net),
};
const measures = { deliveries: deliveryMeasuresOver(memory) };
const mail = createMail(config, { clock, ids, sql });

interface CellOut {
  outgoing: Outgoing;
  close(): Promise<void>;
}
const cells = new Map<string, CellOut>();
/** Of this worker. */
let share: readonly string[] = [];
const begin = (cell: string, pool: Pool): void => {
  const outgoing = runDeliveries(
    { ...shared, sql: pool, measures, mail },
    () => clockOffset.isTolerable() && share.includes(cell),
    { hearsAll, slowdown: () => slowdownOf(share.length) },
  );
  cells.set(cell, { outgoing, close: pool.close });
};
begin(homeCell, sql);

function take(taken: readonly string[]): void {
  share = taken;
  for (const cell of taken)
    if (!cells.has(cell))
      begin(cell, openPool({ url: databaseUrl, log, name: 'vintem outgoing', size: 2, cell, budget }));
}

port.on('message', (message: DeliveryMessage) => {
  if (message === 'stop') void stop();
  else if (message === 'written') for (const { outgoing } of cells.values()) outgoing.written();
  else take(message.cells);
});

async function stop(): Promise<void> {
  stopping.abort();
  await Promise.all([...cells.values()].map(({ outgoing }) => outgoing.stop()));
  await traces?.stop();
  await Promise.all([...cells.values()].map(({ close }) => close()));
  // Of a thread this ends the thread. Attempts that are still under way are cut, and made again.
  process.exit();
}
