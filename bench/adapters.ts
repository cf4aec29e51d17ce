import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLog } from '../server/src/ground/log.ts';
import { systemClock } from '../server/src/ports/clock.ts';
import { createUndiciNet } from '../server/src/ports/undici-net.ts';
import type { Provider } from '../server/src/provider/provider.ts';
import { type AdapterName, adapters } from '../server/src/provider/registry/adapters.ts';
import { payOut } from '../testkit/src/pay-out.ts';
import { startPart, stopAll } from './processes.ts';
import { median } from './report.ts';

/**
 * An adapter's own work: the CPU time of this process for each call of a life (a charge is created, a payout sent and queried), against the
 * simulator in a process of its own, in every protocol that it speaks. Rounds alternate, and a figure is the median of its rounds, so
 * that a busy machine disturbs all of them alike.
 *
 *   node bench/adapters.ts [--rounds 7] [--calls 300]
 *
 * Exit code 1 when a call costs more than 1.5 times what it costs in the simulator's own protocol (Efí's).
 */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, calls: { type: 'string', default: '300' } },
});
const rounds = Number(values.rounds);
const callsEach = Number(values.calls);
const limit = 1.5;
/** Calls that are under way at once. */
const atOnce = 16;

const secret = 'ab'.repeat(32);
const application = { clientId: 'vintem', clientSecret: secret };
const protocols: Partial<Record<AdapterName, Record<string, string>>> = {
  efi: { ...application, pixKey: 'efi@simulator.example' },
  woovi: { appId: Buffer.from(`vintem:${secret}`).toString('base64') },
  inter: { ...application, pixKey: 'inter@simulator.example' },
  sicredi: { ...application, pixKey: 'sicredi@simulator.example' },
};

const plainId = (): string => randomUUID().replaceAll('-', '');

/** The calls that a life makes to a provider; each throws when it is refused. */
const calls: Record<string, (provider: Provider) => Promise<void>> = {
  charge: async (provider) => {
    const { outcome } = await provider.createCharge({
      txid: plainId(),
      amountCents: 1_000,
      payerName: 'Maria',
      description: 'Pedido',
      expirySeconds: 3_600,
    });
    if (outcome !== 'accepted') throw new Error(`a charge is ${outcome}`);
  },
  'payout and query': async (provider) => {
    const providerId = plainId();
    const sent = await payOut(provider, {
      providerId,
      amountCents: 1_000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: 'Fatura',
    });
    if (sent.outcome !== 'accepted') throw new Error(`a payout is ${sent.outcome}`);
    const { outcome } = await provider.queryPayout(providerId, sent.report.providerRef ?? null);
    if (outcome !== 'found') throw new Error(`a query says ${outcome}`);
  },
};

/** CPU microseconds of one call. */
async function costOf(call: () => Promise<void>): Promise<number> {
  let left = callsEach;
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await call();
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / callsEach;
}

const stateDir = await mkdtemp(join(tmpdir(), 'vintem-adapters-'));
const simulator = await startPart<{ url: string }>('./simulator.ts', { SIMULATOR_STATE: stateDir });
const net = createUndiciNet();
const world = { net, clock: systemClock, log: createLog('silent') };
const providers = Object.entries(protocols).map(([name, credentials]): [string, Provider] => {
  const adapter = adapters[name as AdapterName];
  const settings = {
    name,
    test: true,
    simulated: true,
    url: simulator.told.url + adapter.simulatorPath,
    credentials,
    certificate: null,
  };
  return [name, adapter.create(settings, world)];
});
const offered = ({ capabilities }: Provider, call: string) => call === 'charge' || capabilities.payouts;

let isOver = false;
console.log('| Call | Protocol | CPU µs each | of Efí |\n|---|---|---|---|');
for (const [what, call] of Object.entries(calls)) {
  const measured = providers.filter(([, provider]) => offered(provider, what));
  const costs = new Map(measured.map(([name]) => [name, [] as number[]]));
  // The first round compiles the code, and is left out.
  for (let round = 0; round <= rounds; round++)
    for (const [name, provider] of measured) {
      const cost = await costOf(() => call(provider));
      if (round > 0) costs.get(name)?.push(cost);
    }
  const own = median(costs.get('efi') ?? []);
  for (const [name, all] of costs) {
    const ratio = median(all) / own;
    isOver ||= ratio > limit;
    console.log(`| ${what} | ${name} | ${median(all).toFixed(0)} | ${ratio.toFixed(2)} |`);
  }
}
await net.close();
await stopAll();
await rm(stateDir, { recursive: true, force: true });
process.exitCode = isOver ? 1 : 0;
