import { createFollowUp } from '../../server/src/flow/follow-up.ts';
import type { Provider } from '../../server/src/provider/provider.ts';
import { type Answer, type Dialect, type Merchant, type Service, until } from './service.ts';
import { fillQueryLimit, journalsOf, later, providerIdOf, statusOf } from './settlement.ts';

/**
 * Everything that a provider may do to payouts and refunds at once, under what it may do to queries, webhooks and charges. Afterwards it
 * is well again, time passes, and each payment has the fate that the provider itself holds true. The service has no worker: what one
 * does happens here, at the times that are given.
 */
export interface Weather {
  query: string;
  webhook: string;
  charge: string;
  /** Of the second step of a payout, where the provider has two. */
  confirm: string;
}

export const weathers: readonly Weather[] = [
  { query: 'answer', webhook: 'drop', charge: 'error-500', confirm: 'lose-answer' },
  { query: 'not-found', webhook: 'reorder', charge: 'lose-answer', confirm: 'lose-request' },
  { query: 'error-500', webhook: 'delay', charge: 'no-code', confirm: 'error-500' },
  { query: 'stale', webhook: 'duplicate', charge: 'lose-request', confirm: 'lose-answer' },
  { query: 'hang', webhook: 'drop', charge: 'create', confirm: 'garbage' },
  { query: 'error-500', webhook: 'drop', charge: 'refuse', confirm: 'refuse-unknown' },
];

const payoutFates = [
  'complete',
  'stay-pending',
  'refuse-in-answer',
  'refuse-later',
  'pix-key-not-found',
  'lose-answer',
  'lose-request',
  'delay-request',
  'error-500',
  'error-500-after-accepting',
  'garbage',
];
const refundFates = [
  'complete',
  'complete-in-answer',
  'stay-pending',
  'refuse-in-answer',
  'refuse-later',
  'lose-answer',
  'lose-request',
  'delay-request',
  'error-500',
  'error-500-after-accepting',
  'garbage',
];
/** Sends that the provider never accepts: the reserve stays, whatever is not found. */
const neverTaken = ['lose-request', 'error-500'];
/**
 * Sends that end elsewhere and stay open in a protocol, with its reserve, until a person decides: Woovi documents no code for the refusal of a
 * refund, so that the answer proves nothing and no query ever names the refund.
 */
const undecidedIn: Partial<Record<Dialect, readonly string[]>> = { woovi: ['refund, refuse-in-answer'] };

/** Here a charge is looked for before it is created: while queries fail it is not sent, so a refusal meets it only afterwards. */
const looksBeforeCharges: readonly Dialect[] = ['stark', 'asaas'];

/** Its final state, by its name as `payout, lose-answer`. */
export type Became = Map<string, string>;

/** A payment or a refund that was asked for, and the name of its fate. */
interface Asked {
  fate: string;
  id: string;
  kind: 'payout' | 'refund';
}

interface Day {
  service: Service;
  dialect: Dialect;
  provider: Provider;
  merchant: Merchant;
  faults: string[];
}

const receivedCents = 20_000;
const payoutCents = 1_000;
const refundCents = 100;

/** @returns what became of each, and what is not as it should be */
export async function playWeather(
  service: Service,
  dialect: Dialect,
  weather: Weather,
): Promise<{ became: Became; faults: string[] }> {
  const provider = service.runtime.providers.get('simulator') as Provider;
  await forgetTroubles(service);
  await service.simulator.behave({});
  const day: Day = { service, dialect, provider, merchant: await service.newMerchant(), faults: [] };
  const funding = await receive(day);
  await service.simulator.behave({ ...weather, delayMs: 700 });
  const [charge, asked] = await Promise.all([
    day.merchant.charge({ amountCents: 3_000 }),
    askForAll(day, funding, weather),
  ]);
  // It stays like that for a while, and nothing that is merely not known becomes something.
  for (const second of weather.query === 'hang' ? [6] : [6, 17]) await work(day, second * 1_000);
  for (const one of asked.filter((one) => staysOpen(day, one))) {
    const status = await statusNow(day, one);
    if (status !== 'unknown') day.faults.push(`${nameOf(one)} is ${status} while it cannot be known`);
  }
  await service.simulator.behave({});
  const chargeStatus = await clearUp(day, asked, charge.body.id, weather.charge);
  const became = await compareWithTruth(day, asked);
  became.set(`charge, ${weather.charge}`, chargeStatus);
  await compareBalance(day, asked, chargeStatus);
  return { became, faults: day.faults.map((fault) => `${told(weather)}: ${fault}`) };
}

const told = ({ query, webhook, charge }: Weather): string =>
  `queries ${query}, webhooks ${webhook}, charges ${charge}`;

const staysOpen = ({ dialect }: Day, one: Asked): boolean =>
  neverTaken.includes(one.fate) || (undecidedIn[dialect] ?? []).includes(nameOf(one));

const nameOf = ({ kind, fate }: Pick<Asked, 'kind' | 'fate'>): string => `${kind}, ${fate}`;

/** The troubles of the weather before: they would only keep this one waiting. */
async function forgetTroubles({ database }: Service): Promise<void> {
  await database.admin('DELETE FROM breaker');
  await database.admin(`UPDATE query_slot SET lease_until = now() - interval '1 hour'`);
  await fillQueryLimit({ database });
}

/** Lets a worker do all that is due then. */
async function work({ service, merchant, provider }: Day, aheadMs: number): Promise<void> {
  const followUp = createFollowUp(later(service.cellOf(merchant), aheadMs), provider);
  await followUp.stepSends();
  await followUp.idle();
  while (await followUp.stepQueries());
  await followUp.idle();
}

/** @returns the id of a charge that was paid */
async function receive(day: Day): Promise<string> {
  const { body } = await day.merchant.charge({ amountCents: receivedCents });
  await pay(day, body.id);
  // A webhook that only a secret address protects wakes a query, and no more.
  await until(async () => {
    if ((await statusOf(day.service, body.id)) === 'paid') return true;
    await work(day, 6_000);
    return false;
  }, hangsAfterMs);
  return body.id;
}

const pay = ({ service }: Day, id: string): Promise<Answer> =>
  service.simulator.control('POST', `/control/charges/${providerIdOf(id)}/pay`);

async function askForAll(day: Day, funding: string, weather: Weather): Promise<Asked[]> {
  const { merchant, provider, faults } = day;
  // One that hangs keeps its caller for five seconds: where queries hang too.
  const fates = weather.query === 'hang' ? [...payoutFates, 'hang'] : payoutFates;
  const payouts = fates.map(async (fate): Promise<Asked | null> => {
    const { status, body } = await merchant.transfer({
      amountCents: payoutCents,
      pixKey: `${fate}@simulator.example`,
    });
    const id: string | undefined = body.id ?? body.paymentId;
    if (provider.capabilities.payouts && id !== undefined) return { kind: 'payout', fate, id };
    if (provider.capabilities.payouts || body.code !== 'not_offered_by_provider')
      faults.push(`payout, ${fate}: answered ${status} ${body.code}`);
    return null;
  });
  const refunds = refundFates.map(async (fate): Promise<Asked | null> => {
    const { status, body } = await merchant.call('POST', `/payments/${funding}/refunds`, {
      requestKey: crypto.randomUUID(),
      amountCents: refundCents,
      description: `${fate}@simulator.example`,
    });
    const isOffered = provider.capabilities.canRefund;
    if (isOffered ? status !== 201 : body.code !== 'payment_not_refundable')
      faults.push(`refund, ${fate}: answered ${status} ${body.code}`);
    return status === 201 ? { kind: 'refund', fate, id: body.id } : null;
  });
  return (await Promise.all([...payouts, ...refunds])).filter((one) => one !== null);
}

const endings = new Set(['completed', 'cancelled', 'failed']);

async function statusNow({ service }: Day, { kind, id }: Asked): Promise<string> {
  if (kind === 'payout') return statusOf(service, id);
  const rows = await service.database.admin<{ status: string }>('SELECT status FROM refund WHERE id = $1', [
    id,
  ]);
  return rows[0]?.status ?? 'none';
}

/** Ends what hangs, and nothing else. */
const hangsAfterMs = 500_000;

/** The provider is well again and decides what it had left open; time passes. @returns what became of the charge */
async function clearUp(day: Day, asked: readonly Asked[], charge: string, fate: string): Promise<string> {
  // A breaker that is open counts by a clock that no test moves: it would only keep this waiting, half a minute a probe.
  await day.service.database.admin('DELETE FROM breaker');
  const ends = fate === 'refuse' && !looksBeforeCharges.includes(day.dialect) ? 'failed' : 'paid';
  const done = async (): Promise<boolean> => {
    if ((await statusOf(day.service, charge)) !== ends) return false;
    const ending = asked.filter((one) => !staysOpen(day, one));
    const statuses = await Promise.all(ending.map((one) => statusNow(day, one)));
    return statuses.every((status) => endings.has(status));
  };
  let paid = ends === 'failed';
  let minute = 1;
  await until(async () => {
    if (await done()) return true;
    await decideOpen(day, asked);
    await work(day, minute * 60_000);
    if (!paid) paid = (await pay(day, charge)).status === 200;
    minute += 4;
    return false;
  }, hangsAfterMs);
  return statusOf(day.service, charge);
}

/** A payout is completed and a refund carried out by hand: a provider that has decided it already says so, and nothing changes. */
async function decideOpen({ service }: Day, asked: readonly Asked[]): Promise<void> {
  for (const { kind, id } of asked.filter(({ fate }) => fate === 'stay-pending'))
    await service.simulator.control('POST', `/control/${kind}s/${providerIdOf(id)}/complete`);
}

interface TrueRow {
  id: string;
  status?: string;
  timesAccepted: number;
}

async function compareWithTruth(day: Day, asked: readonly Asked[]): Promise<Became> {
  const { service, faults } = day;
  const { body } = await service.simulator.control('GET', '/control/state');
  const rows = new Map<string, TrueRow>();
  for (const { idEnvio, ...row } of body.payouts) rows.set(idEnvio, { id: idEnvio, ...row });
  for (const { refunds = [] } of body.charges) for (const row of refunds) rows.set(row.id, row);
  const became: Became = new Map();
  for (const one of asked) {
    const row = rows.get(providerIdOf(one.id));
    const status = await statusNow(day, one);
    became.set(nameOf(one), status);
    const refused = one.kind === 'payout' ? 'cancelled' : 'failed';
    const expected = staysOpen(day, one) ? 'unknown' : row?.status === 'completed' ? 'completed' : refused;
    if (status !== expected)
      faults.push(`${nameOf(one)} is ${status}, the provider says ${row?.status ?? 'nothing'}`);
    if ((row?.timesAccepted ?? 0) > 1) faults.push(`${nameOf(one)} was accepted ${row?.timesAccepted} times`);
    const journals = await journalsOf(service, one.id);
    if (journals.length !== (status === 'unknown' ? 1 : 2))
      faults.push(`${nameOf(one)} is ${status} with the journals ${journals}`);
  }
  return became;
}

async function compareBalance(day: Day, asked: readonly Asked[], chargeStatus: string): Promise<void> {
  const { body } = await day.merchant.call('GET', '/account');
  const expected = { balanceCents: receivedCents, reservedWithdrawalCents: 0 };
  if (chargeStatus === 'paid') expected.balanceCents += 3_000;
  for (const one of asked) {
    const status = await statusNow(day, one);
    const cents = one.kind === 'payout' ? payoutCents : refundCents;
    if (status === 'completed' || status === 'unknown') expected.balanceCents -= cents;
    if (status === 'unknown') expected.reservedWithdrawalCents += cents;
  }
  for (const [name, cents] of Object.entries(expected))
    if (body[name] !== cents) day.faults.push(`${name} is ${body[name]} and not ${cents}`);
}
