import type { Caller } from '../../ground/caller.ts';
import { refuse } from '../../ground/errors.ts';
import { findPayment } from '../../kinds/payment/lookup.sql.ts';
import type { PaymentKind } from '../../money/payment.ts';
import { findConnectionRow } from '../../operate/connections/connections.sql.ts';
import { environmentOf } from '../../operate/connections/connections.ts';
import { simulatorOf } from '../../operate/connections/credentials.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Net, NetFailure, NotSent } from '../../ports/net.ts';
import type { Sql } from '../../ports/sql.ts';
import type { Provider } from '../../provider/provider.ts';
import { findDispute } from '../../store/rows/disputes.sql.ts';
import { makeJobDue } from '../../store/rows/jobs.sql.ts';

/**
 * The parts that a merchant plays in a test account: the payer's bank, the receiver's bank and the provider. Each act is a call to the simulator,
 * which reports what it did as any provider would. So nothing here approves a payment: the state changes by the simulator's word alone.
 */
export interface SimulationDeps {
  sql: Sql;
  clock: Clock;
  net: Net;
  providers: ReadonlyMap<string, Provider>;
  simulatorUrl: string;
}

export const chargeActs = ['pay', 'expire', 'remove', 'return', 'dispute'] as const;
export const transferActs = ['complete', 'refuse', 'return'] as const;
export const acts = ['pay', 'expire', 'remove', 'complete', 'refuse', 'return', 'dispute'] as const;
export type Act = (typeof acts)[number];
/** Plays the provider's decision of a dispute. An accepted one takes no money: that is the act `return` on its charge. */
export const disputeActs = ['defend', 'accept', 'reject', 'cancel'] as const;
export type DisputeAct = (typeof disputeActs)[number];

const actsOf: Readonly<Record<PaymentKind, readonly Act[]>> = { deposit: chargeActs, transfer: transferActs };
const areaOf: Readonly<Record<PaymentKind, string>> = { deposit: 'charges', transfer: 'payouts' };

/** The simulator stands beside the service. */
const withinMs = 3_000;

/**
 * @param given the body of the simulator's control call
 * @throws ApiError `test_account_required`, `payment_not_found`, `simulation_refused`, `simulator_unavailable`
 */
export async function simulate(
  deps: SimulationDeps,
  caller: Caller,
  id: string,
  act: Act,
  given: object,
): Promise<void> {
  // A live account has no such key either: this line is what counts.
  if (!caller.test) throw refuse('test_account_required');
  const payment = await findPayment(deps.sql, caller, id);
  if (!payment) throw refuse('payment_not_found');
  const { kind, connection } = payment;
  const isPossible =
    actsOf[kind].includes(act) && (act !== 'dispute' || reportsDisputes(deps.providers, connection));
  if (!isPossible) throw refuse('simulation_refused', { paymentId: id });
  await play(deps, connection, `/control/${areaOf[kind]}/${id.replaceAll('-', '')}/${act}`, given, id);
  if (act === 'dispute' && connection !== null)
    await makeJobDue(deps.sql, 'disputes', connection, deps.clock.now());
}

const reportsDisputes = (providers: SimulationDeps['providers'], connection: string | null): boolean =>
  connection !== null && providers.get(connection)?.capabilities.canDispute === true;

/** @throws ApiError `test_account_required`, `dispute_not_found`, `simulation_refused`, `simulator_unavailable` */
export async function simulateDispute(
  deps: SimulationDeps,
  caller: Caller,
  id: string,
  act: DisputeAct,
): Promise<void> {
  if (!caller.test) throw refuse('test_account_required');
  const dispute = await findDispute(deps.sql, caller, id);
  if (!dispute) throw refuse('dispute_not_found');
  const { connection, providerId, paymentId } = dispute;
  await play(deps, connection, `/control/disputes/${providerId}/${act}`, {}, paymentId);
  await makeJobDue(deps.sql, 'disputes', connection, deps.clock.now());
}

async function play(
  deps: SimulationDeps,
  connection: string | null,
  path: string,
  given: object,
  paymentId: string,
): Promise<void> {
  const { status } = await askSimulator(deps, connection, path, given);
  if (status >= 500) throw refuse('simulator_unavailable');
  if (status !== 200) throw refuse('simulation_refused', { paymentId });
}

/** @throws ApiError `simulator_account_required` the connection is not of the simulator */
export async function requireSimulator(sql: Sql, connection: string): Promise<void> {
  const row = await findConnectionRow(sql, connection);
  if (row && environmentOf(row) !== 'simulator') throw refuse('simulator_account_required');
}

/**
 * Each connection of the simulator has accounts and money of its own there.
 * @param connection null: of a payment from before there were several
 * @throws ApiError `simulator_unavailable`, `simulator_account_required`
 */
export async function askSimulator(
  { sql, net, simulatorUrl }: Pick<SimulationDeps, 'sql' | 'net' | 'simulatorUrl'>,
  connection: string | null,
  path: string,
  given: object,
): Promise<{ status: number; text: string }> {
  const row = await findConnectionRow(sql, connection ?? 'simulator');
  const url = row ? simulatorOf({ simulatorUrl }, row) : null;
  // At a provider's own test environment its own calls and panel play the other side.
  if (url === null) throw refuse('simulator_account_required');
  try {
    return await net.request({
      method: 'POST',
      url: url + path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(given),
      timeoutMs: withinMs,
    });
  } catch (error) {
    if (error instanceof NotSent || error instanceof NetFailure) throw refuse('simulator_unavailable');
    throw error;
  }
}
