import { readConfig } from '../server/src/ground/config.ts';
import { createLog } from '../server/src/ground/log.ts';
import { loadSecrets } from '../server/src/ground/secrets.ts';
import { runApi } from '../server/src/main/api.ts';
import { openRuntime } from '../server/src/main/runtime.ts';
import { systemClock } from '../server/src/ports/clock.ts';
import { systemIds } from '../server/src/ports/ids.ts';
import { createUndiciNet } from '../server/src/ports/undici-net.ts';
import { openPool } from '../server/src/store/database/pool.ts';
import { createTill } from '../server/src/store/till.ts';

/** The service without batching: every command has a till, and so a transaction, of its own. */
const config = readConfig(process.env);
const log = createLog(config.logLevel);
const ids = systemIds(systemClock);
const ending = new AbortController();
const sql = openPool({ url: config.databaseUrl ?? '', log, name: 'vintem bench direct', size: 32 });
const secrets = await loadSecrets(ids, config);
const net = createUndiciNet();
const runtime = await openRuntime({ config, sql, clock: systemClock, ids, net, secrets, log }, ending.signal);
// In place: each cell's own parts are used, of which a copy with another till would be none.
Object.assign(runtime.till, {
  submit: ((command) => createTill(runtime).submit(command)) as typeof runtime.till.submit,
});
const api = await runApi(runtime, config);
process.on('disconnect', () => process.exit(0));
process.send?.({ url: api.url });
