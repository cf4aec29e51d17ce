import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { finish } from '@vintem/testkit/command.ts';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import {
  deliver,
  fillQueryLimit,
  incidentsOf,
  intentOf,
  journalsOf,
  later,
  providerIdOf,
  receivedItem,
  reservedCents,
  returnItem,
  statusOf,
} from '@vintem/testkit/settlement.ts';
import { violations, violationsOfBooks } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyOutcome } from '../../src/flow/apply.ts';
import { createFollowUp } from '../../src/flow/follow-up.ts';
import type { Provider } from '../../src/provider/provider.ts';
import { createTill } from '../../src/store/till.ts';

/**
 * Rows of the table in `operate/incidents/endings.ts` from the first odd word of the provider to the operator's command: what comes in comes
 * over HTTP, and every incident is listed and resolved by `vintem`.
 */

const secret = Buffer.alloc(32, 7).toString('base64');

const open = (env: Record<string, string> = {}, worker = true): Promise<Service> =>
  openService({ env: { VINTEM_SECRET: secret, ...env }, worker });

/** `vintem ... --json` over the service's database. */
async function vintem(service: Service, ...words: string[]) {
  const { code, stdout, stderr } = await finish([...words, '--json'], {
    DATABASE_URL: service.database.url,
    DATA_DIR: service.dataDir,
    SIMULATOR_URL: service.simulator.url,
    VINTEM_SECRET: secret,
    LOG_LEVEL: 'silent',
  });
  return { code, stderr, json: stdout === '' ? null : JSON.parse(stdout) };
}

/** The account's only open incident, as the command lists it. */
async function onlyIncident(service: Service, merchant: Merchant) {
  const { json } = await vintem(service, 'incident', 'list', '--account', merchant.ownerId);
  const opened = json.incidents.filter((one: { state: string }) => one.state === 'open');
  expect(opened).toHaveLength(1);
  return opened[0];
}

const resolve = (service: Service, id: string, action: string) =>
  vintem(service, 'incident', 'resolve', id, '--action', action, '--reason', 'seen and decided');

async function sums(
  service: Service,
  merchant: Merchant,
): Promise<{ suspense: number; adjustments: number }> {
  const [row] = await service.database.admin<{ suspense: string; adjustments: string }>(
    'SELECT coalesce(sum(suspense), 0) AS suspense, coalesce(sum(adjustments), 0) AS adjustments FROM journal WHERE account_id = $1',
    [merchant.ownerId],
  );
  return { suspense: Number(row?.suspense), adjustments: Number(row?.adjustments) };
}

describe('money in a delivery', () => {
  let service: Service;
  beforeAll(async () => {
    service = await open();
  });
  // Not compared with the simulator: it never had this money.
  afterAll(async () => {
    const wrong = await violationsOfBooks(service);
    await service.close();
    expect(wrong).toEqual([]);
  });

  const opened = (id: string) => until(async () => (await incidentsOf(service, id)).length > 0);

  test.each([
    ['credit', 1_000, { suspense: 0, adjustments: 0 }],
    ['writeoff', 0, { suspense: 0, adjustments: 1_000 }],
  ] as const)(
    'a failed charge that is paid stays failed; %s decides whose the money is',
    async (action, balance, books) => {
      const merchant = await service.newMerchant();
      await service.simulator.behave({ charge: 'refuse' });
      const { body } = await merchant.charge();
      await service.simulator.behave({});
      const id: string = body.id ?? body.paymentId;
      expect(await statusOf(service, id)).toBe('failed');
      const item = receivedItem(id, 1_000, `Efailed${action}`);
      for (const _ of [1, 2]) expect(await deliver(service, [item])).toBe(200);
      await opened(id);
      expect(await merchant.balanceCents()).toBe(0);
      expect(await sums(service, merchant)).toEqual({ suspense: 1_000, adjustments: 0 });
      const incident = await onlyIncident(service, merchant);
      expect(incident).toMatchObject({ kind: 'failed_charge_paid', paymentId: id, amountCents: 1_000 });
      expect((await resolve(service, incident.id, 'debit')).code).toBe(1);
      expect((await resolve(service, incident.id, action)).code).toBe(0);
      expect(await statusOf(service, id)).toBe('failed');
      expect(await merchant.balanceCents()).toBe(balance);
      expect(await sums(service, merchant)).toEqual(books);
      // Heard once more, it is no news.
      expect(await deliver(service, [item])).toBe(200);
      await until(async () => (await left(service)) === 0);
      expect(await incidentsOf(service, id)).toHaveLength(1);
      expect(await merchant.balanceCents()).toBe(balance);
    },
  );

  test('a Pix that paid one charge is booked under no other, whatever the provider answers about the other', async () => {
    const merchant = await service.newMerchant();
    const other = await service.newMerchant();
    await merchant.receive(1_000);
    const [paid] = (await merchant.call('GET', '/payments')).body.payments;
    const { body: mine } = await merchant.charge({ amountCents: 1_000 });
    const { body: theirs } = await other.charge({ amountCents: 2_000 });
    const taken = { devolucoes: [returnItem('Rforeign', 400)] };
    for (const { id } of [mine, theirs]) {
      await deliver(service, [receivedItem(id, 1_000, paid.endToEnd)]);
      await deliver(service, [{ ...receivedItem(id, 1_000, paid.endToEnd), ...taken }]);
      await opened(id);
      await until(async () => (await left(service)) === 0);
      expect(await journalsOf(service, id)).toEqual([]);
      expect(await statusOf(service, id)).toBe('pending');
    }
    expect(await merchant.balanceCents()).toBe(1_000);
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: 0 });
    for (const [owner, { id }] of [
      [merchant, mine],
      [other, theirs],
    ] as const) {
      const incident = await onlyIncident(service, owner);
      expect(incident).toMatchObject({
        kind: 'report_mismatch',
        paymentId: id,
        freezes: false,
        detail: { pix: paid.endToEnd, bookedUnder: paid.id },
      });
      for (const action of ['credit', 'return', 'debit'])
        expect((await resolve(service, incident.id, action)).code).toBe(1);
    }
    // Its own Pix pays the charge.
    await deliver(service, [receivedItem(mine.id, 1_000, 'Eown')]);
    await until(async () => (await statusOf(service, mine.id)) === 'paid');
    expect(await merchant.balanceCents()).toBe(2_000);
  });

  test('one Pix that is reported of many charges at the same time is booked under one of them', async () => {
    const merchant = await service.newMerchant();
    const others = await Promise.all([1, 2, 3].map(() => service.newMerchant()));
    const charges = await Promise.all(
      [merchant, ...others].map(async (one) => (await one.charge({ amountCents: 1_000 })).body.id as string),
    );
    const at = service.runtime.clock.now();
    const { clock } = service.runtime;
    await Promise.all(
      charges.map((id, index) => {
        const owner = [merchant, ...others][index] as Merchant;
        return applyOutcome(
          // Each has a till of its own, as in a process of its own.
          { ...service.cellOf(owner), till: createTill(service.runtime) },
          {
            accountId: owner.ownerId,
            paymentId: id,
            operationId: owner.operationId,
            connection: 'simulator',
            kind: 'deposit',
            observation: {
              from: 'webhook',
              id: crypto.randomUUID(),
              received: [{ endToEnd: 'Eonce', amountCents: 1_000, paidAt: at, txid: null, returns: [] }],
              payouts: [],
            },
          },
          clock.monotonicMs() + 60_000,
        );
      }),
    );
    const booked = await Promise.all(charges.map(async (id) => (await journalsOf(service, id)).join()));
    expect(booked.toSorted()).toEqual(['', '', '', 'credit']);
    const asked = await Promise.all(charges.map(async (id) => (await incidentsOf(service, id)).length));
    expect(asked.toSorted()).toEqual([0, 1, 1, 1]);
  });

  test('a second payment that was taken back, whole or in part: every act takes what is left of it, and its incidents show each other', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(1_000);
    const [charge] = (await merchant.call('GET', '/payments')).body.payments;
    const both = async (endToEnd: string, backCents: number) => {
      const before = (await incidentsOf(service, charge.id)).length;
      const second = receivedItem(charge.id, 2_000, endToEnd);
      await deliver(service, [second]);
      await until(async () => (await incidentsOf(service, charge.id)).length === before + 1);
      await deliver(service, [{ ...second, devolucoes: [returnItem(`R${endToEnd}`, backCents)] }]);
      await until(async () => (await incidentsOf(service, charge.id)).length === before + 2);
      const { json } = await vintem(service, 'incident', 'list', '--account', merchant.ownerId);
      const [back, came] = json.incidents as { id: string; kind: string }[];
      expect([came?.kind, back?.kind]).toEqual(['second_payment', 'debit']);
      return [came?.id as string, back?.id as string] as const;
    };
    const refused = async (id: string, action: string, why: string) => {
      const { code, stderr } = await resolve(service, id, action);
      expect([code, stderr]).toEqual([1, expect.stringContaining(why)]);
    };

    const [whole, wholeBack] = await both('Ewhole', 2_000);
    expect((await vintem(service, 'incident', 'show', whole)).json.related).toEqual([wholeBack]);
    expect((await vintem(service, 'incident', 'show', wholeBack)).json.related).toEqual([whole]);
    for (const action of ['credit', 'writeoff']) await refused(whole, action, 'nothing of it is left');
    for (const action of ['debit', 'writeoff']) await refused(wholeBack, action, 'nothing of it is left');
    await refused(whole, 'return', 'went back already');
    for (const id of [whole, wholeBack]) expect((await resolve(service, id, 'none')).code).toBe(0);
    expect(await merchant.balanceCents()).toBe(1_000);
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: 0 });

    const [part, partBack] = await both('Epart', 500);
    expect((await resolve(service, part, 'credit')).code).toBe(0);
    expect(await merchant.balanceCents()).toBe(2_500);
    await refused(partBack, 'debit', 'nothing of it is left');
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: 0 });

    const [lost, lostBack] = await both('Elost', 800);
    expect((await resolve(service, lost, 'writeoff')).code).toBe(0);
    await refused(lostBack, 'writeoff', 'nothing of it is left');
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: 1_200 });
  });

  test('money that was written off and is taken back is never taken from the operation, and of what was credited no more than that', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5_000);
    const [charge] = (await merchant.call('GET', '/payments')).body.payments;
    const second = async (endToEnd: string, action: string, backs: number[]) => {
      const incidentsNow = async () => (await incidentsOf(service, charge.id)).length;
      const before = await incidentsNow();
      const pix = receivedItem(charge.id, 2_000, endToEnd);
      const devolucoes: object[] = [];
      await deliver(service, [pix]);
      await until(async () => (await incidentsNow()) === before + 1);
      const newest = async () =>
        (await vintem(service, 'incident', 'list', '--account', merchant.ownerId)).json.incidents[0].id;
      const came = await newest();
      const ids: string[] = [];
      for (const [at, cents] of backs.entries()) {
        if (at === backs.length - 1) expect((await resolve(service, came, action)).code).toBe(0);
        devolucoes.push(returnItem(`R${endToEnd}${at}`, cents));
        await deliver(service, [{ ...pix, devolucoes }]);
        await until(async () => (await incidentsNow()) === before + 2 + at);
        ids.push(await newest());
      }
      return ids;
    };
    const [lost] = await second('Ewritten', 'writeoff', [2_000]);
    const { code, stderr } = await resolve(service, lost as string, 'debit');
    expect([code, stderr]).toEqual([1, expect.stringContaining('no operation was credited')]);
    expect((await resolve(service, lost as string, 'writeoff')).code).toBe(0);
    expect(await merchant.balanceCents()).toBe(5_000);
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: 0 });

    // 12.00 of 20.00 were left and credited; the other 12.00 that are taken now were the merchant's.
    const [, rest] = await second('Ecredited', 'credit', [800, 1_200]);
    expect(await merchant.balanceCents()).toBe(6_200);
    expect((await resolve(service, rest as string, 'debit')).code).toBe(0);
    expect(await merchant.balanceCents()).toBe(5_000);
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: 0 });
  });

  test('a payment of another amount that was taken back in part pays its charge with what is left', async () => {
    const merchant = await service.newMerchant();
    const { body: charge } = await merchant.charge({ amountCents: 1_000 });
    const odd = receivedItem(charge.id, 900, 'Eodd');
    await deliver(service, [odd]);
    await opened(charge.id);
    const incident = await onlyIncident(service, merchant);
    await deliver(service, [{ ...odd, devolucoes: [returnItem('Rodd', 300)] }]);
    await until(async () => (await incidentsOf(service, charge.id)).length === 2);
    expect((await resolve(service, incident.id, 'credit')).code).toBe(0);
    expect(await statusOf(service, charge.id)).toBe('paid');
    expect(await merchant.balanceCents()).toBe(600);
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: 0 });
  });

  test('a Pix in suspense that paid another charge does not go back to its payer', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(1_000);
    const [charge] = (await merchant.call('GET', '/payments')).body.payments;
    const other = await service.newMerchant();
    const { body: theirs } = await other.charge({ amountCents: 1_000 });
    await deliver(service, [receivedItem(charge.id, 1_000, 'Etwice')]);
    await opened(charge.id);
    const { admin } = service.database;
    // As a program would have written it that did not compare the two.
    await admin("UPDATE payment SET end_to_end = 'Etwice' WHERE id = $1", [theirs.id]);
    const { code, stderr } = await resolve(service, (await onlyIncident(service, merchant)).id, 'return');
    expect([code, stderr]).toEqual([1, expect.stringContaining('paid another charge')]);
    await admin('UPDATE payment SET end_to_end = NULL WHERE id = $1', [theirs.id]);
  });

  test('money that matches no payment is claimed by a payment of its connection, direction and amount alone', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(5_000);
    const { body: sent } = await merchant.transfer({ amountCents: 3_025 });
    await until(async () => (await statusOf(service, sent.id)) === 'completed');
    const { endToEnd } = (await merchant.call('GET', `/payments/${sent.id}`)).body;
    // It arrives here as well, under an id of our form that no charge has.
    await deliver(service, [receivedItem(crypto.randomUUID(), 3_000, endToEnd)]);
    const found = async () =>
      (
        await service.database.admin<{ id: string }>('SELECT id FROM incident WHERE reference = $1', [
          `unmatched:${endToEnd}`,
        ])
      )[0]?.id;
    await until(async () => (await found()) !== undefined);
    const { code, stderr } = await resolve(service, (await found()) ?? '', 'credit');
    expect([code, stderr]).toEqual([1, expect.stringContaining('no payment has posted this Pix')]);
    expect((await resolve(service, (await found()) ?? '', 'writeoff')).code).toBe(0);
  });

  test('a second payment that was credited and is then taken back: debit reclaims it, and what was spent of it becomes a debt', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(1_000);
    const [charge] = (await merchant.call('GET', '/payments')).body.payments;
    const second = receivedItem(charge.id, 1_000, 'Esecond');
    await deliver(service, [second]);
    await opened(charge.id);
    expect((await resolve(service, (await onlyIncident(service, merchant)).id, 'credit')).code).toBe(0);
    expect(await merchant.balanceCents()).toBe(2_000);
    await merchant.transfer({ amountCents: 1_500 });
    await until(async () => (await reservedCents(merchant)) === 0);

    const taken = { ...second, devolucoes: [returnItem('Rsecond', 1_000)] };
    for (const _ of [1, 2]) await deliver(service, [taken]);
    await until(async () => (await incidentsOf(service, charge.id)).length === 2);
    // Nothing is taken until a person has said that it had reached the merchant.
    expect(await merchant.balanceCents()).toBe(500);
    expect(await sums(service, merchant)).toEqual({ suspense: -1_000, adjustments: 0 });
    const incident = await onlyIncident(service, merchant);
    expect(incident).toMatchObject({ kind: 'debit', paymentId: charge.id, amountCents: 1_000 });
    expect((await resolve(service, incident.id, 'credit')).code).toBe(1);
    expect((await resolve(service, incident.id, 'debit')).code).toBe(0);
    expect(await merchant.balanceCents()).toBe(-500);
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: 0 });
    expect((await merchant.transfer()).body.code).toBe('insufficient_balance');
    expect(await journalsOf(service, charge.id)).toEqual([
      'credit',
      'bookToSuspense',
      'creditBesidePayment',
      'bookToSuspense',
      'debitToSuspense',
    ]);
    await merchant.receive(700);
    expect(await merchant.balanceCents()).toBe(200);
  });

  test('money that is taken back of a deleted operation: no other operation pays, and only a write-off ends it', async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(3_000);
    const { body: branch } = await merchant.call('POST', '/operations', {
      name: 'Filial',
      requestKey: crypto.randomUUID(),
    });
    await merchant.receive(1_000, branch.id);
    const [charge] = (await merchant.call('GET', '/payments', undefined, branch.id)).body.payments;
    await merchant.transfer({}, branch.id);
    await until(async () => {
      const { body } = await merchant.call('GET', '/account', undefined, branch.id);
      return body.reservedWithdrawalCents === 0 && body.balanceCents === 0;
    });
    expect((await merchant.call('DELETE', `/operations/${branch.id}`, {})).status).toBe(200);

    const taken = {
      ...receivedItem(charge.id, 1_000, charge.endToEnd),
      devolucoes: [returnItem('Rgone', 1_000)],
    };
    for (const _ of [1, 2]) await deliver(service, [taken]);
    await opened(charge.id);
    const incident = await onlyIncident(service, merchant);
    expect(incident).toMatchObject({ kind: 'deleted_operation', paymentId: charge.id, amountCents: 1_000 });
    expect(await sums(service, merchant)).toEqual({ suspense: -1_000, adjustments: 0 });
    for (const action of ['credit', 'debit'])
      expect((await resolve(service, incident.id, action)).code).toBe(1);
    expect((await resolve(service, incident.id, 'writeoff')).code).toBe(0);
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: -1_000 });
    expect(await merchant.balanceCents()).toBe(3_000);
    expect((await merchant.transfer()).status).toBe(201);
  });
});

const left = async (service: Service): Promise<number> =>
  (
    await service.database.admin<{ n: number }>(
      'SELECT count(*)::int AS n FROM inbound WHERE applied_at IS NULL AND authentic',
    )
  )[0]?.n ?? 0;

describe('a transfer of which the provider says for a day only that it does not find it', () => {
  let service: Service;
  beforeAll(async () => {
    service = await open({}, false);
  });
  afterAll(async () => {
    const wrong = await violations(service);
    await service.close();
    expect(wrong).toEqual([]);
  });

  /** Lets a worker do all that is due then. */
  async function work(provider: Provider, aheadMs: number): Promise<void> {
    await fillQueryLimit(service);
    await service.database.admin(`UPDATE query_slot SET lease_until = now() - interval '1 hour'`);
    for (const cell of service.runtime.cells.all()) {
      const followUp = createFollowUp(later(cell, aheadMs), provider);
      await followUp.stepSends();
      await followUp.idle();
      while (await followUp.stepQueries());
      await followUp.idle();
    }
  }
  const second = 1_000;
  const hour = 3_600 * second;

  test.each([
    ['where a repeat is safe, its repeats refused', true, 'credit', 'cancelled', 10_000],
    ['where a repeat is not safe', false, 'credit', 'cancelled', 10_000],
  ] as const)(
    '%s, keeps its reserve that long, then waits for a person',
    async (_name, repeatIsSafe, action, status, balance) => {
      const merchant = await service.newMerchant();
      await service.simulator.behave({});
      await merchant.receive(10_000);
      const known = service.runtime.providers.get('simulator') as Provider;
      const provider = { ...known, capabilities: { ...known.capabilities, repeatIsSafe } };
      (service.runtime.providers as Map<string, Provider>).set('simulator', provider);
      try {
        await service.simulator.behave({ payout: 'lose-request', webhook: 'drop' });
        const { status: answered, body } = await merchant.transfer();
        expect([answered, body.status]).toEqual([201, 'unknown']);
        await service.simulator.behave({ payout: 'refuse-in-answer', query: 'not-found', webhook: 'drop' });
        for (const ahead of [6, 17, 18, 40, 60, 80, 100, 200]) await work(provider, ahead * second);
        const truth = await service.simulator.payout(body.id);
        expect(truth?.timesAccepted).toBe(0);
        // Refused in the answer to a repeat: the first request may still be on its way, so nothing is released.
        expect(truth?.timesReceived).toBe(repeatIsSafe ? 3 : 1);
        for (let hours = 1; hours <= 23; hours += 2) await work(provider, hours * hour);
        expect(await statusOf(service, body.id)).toBe('unknown');
        expect(await reservedCents(merchant)).toBe(1_000);
        expect(await incidentsOf(service, body.id)).toEqual([]);
        for (const hours of [25, 26, 27]) await work(provider, hours * hour);
        expect(await statusOf(service, body.id)).toBe('unknown');
        expect(await reservedCents(merchant)).toBe(1_000);
        // (Its time is not yet one that the list, which begins with now, would show.)
        const [{ id: incidentId } = { id: '' }] = await service.database.admin<{ id: string }>(
          `SELECT id FROM incident WHERE payment_id = $1 AND state = 'open'`,
          [body.id],
        );
        const { json: incident } = await vintem(service, 'incident', 'show', incidentId);
        expect(incident).toMatchObject({ kind: 'undecided', paymentId: body.id, amountCents: 1_000 });
        // Nothing is frozen: others of the operation go out.
        await service.simulator.behave({});
        expect((await resolve(service, incident.id, 'writeoff')).code).toBe(1);
        expect((await resolve(service, incident.id, action)).code).toBe(0);
        expect(await statusOf(service, body.id)).toBe(status);
        expect(await merchant.balanceCents()).toBe(balance);
        expect(await reservedCents(merchant)).toBe(0);
        expect(await intentOf(service, body.id)).toBeUndefined();
        expect(await journalsOf(service, body.id)).toEqual(['reserve', 'release']);
        // It is over: no later round sends it.
        await work(provider, 30 * hour);
        expect((await service.simulator.payout(body.id))?.timesReceived).toBe(truth?.timesReceived);
      } finally {
        (service.runtime.providers as Map<string, Provider>).set('simulator', known);
      }
    },
  );
});

describe('a charge that the provider reports with another amount', () => {
  let service: Service;
  let between: Server;
  let lying = '';
  beforeAll(async () => {
    let simulatorUrl = '';
    // Stands between the service and its provider, and changes one figure of one answer.
    between = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', async () => {
        try {
          const { host: _host, connection: _connection, ...headers } = request.headers;
          const body = Buffer.concat(chunks);
          const answer = await fetch(simulatorUrl + request.url, {
            method: request.method ?? 'GET',
            headers: headers as Record<string, string>,
            ...(body.length > 0 ? { body } : {}),
          });
          const text = await answer.text();
          const lies =
            request.method === 'GET' && lying !== '' && (request.url ?? '').endsWith(`/cob/${lying}`);
          response.writeHead(answer.status, { 'content-type': 'application/json' });
          response.end(lies ? text.replaceAll('"10.00"', '"7.00"') : text);
        } catch {
          request.socket.destroy();
        }
      });
    });
    await new Promise<void>((listening) => between.listen(0, '127.0.0.1', listening));
    const { port } = between.address() as AddressInfo;
    service = await open({ SIMULATOR_URL: `http://127.0.0.1:${port}` });
    simulatorUrl = service.simulator.url;
  });
  afterAll(async () => {
    const wrong = await violations(service);
    await service.close();
    between.closeAllConnections();
    between.close();
    expect(wrong).toEqual([]);
  });

  test('stays as it is, is not given out, and ends by a person; what is still paid is an incident of its own', async () => {
    const merchant = await service.newMerchant();
    await service.simulator.behave({ charge: 'lose-answer' });
    const { body: made } = await merchant.charge();
    lying = providerIdOf(made.id);
    await service.simulator.behave({});
    await until(async () => (await incidentsOf(service, made.id)).length > 0);
    const incident = await onlyIncident(service, merchant);
    expect(incident).toMatchObject({ kind: 'report_mismatch', paymentId: made.id, amountCents: 700 });
    expect(await statusOf(service, made.id)).toBe('unknown');
    expect((await merchant.call('GET', `/payments/${made.id}`)).body.copyPaste ?? null).toBeNull();
    expect((await resolve(service, incident.id, 'credit')).code).toBe(1);
    expect((await resolve(service, incident.id, 'writeoff')).code).toBe(0);
    expect(await statusOf(service, made.id)).toBe('expired');
    expect(await intentOf(service, made.id)).toBeUndefined();
    lying = '';
    await service.simulator.control('POST', `/control/charges/${providerIdOf(made.id)}/pay`, {
      amountCents: 700,
    });
    await until(async () => (await incidentsOf(service, made.id)).length === 2);
    expect(await merchant.balanceCents()).toBe(0);
    const paid = await onlyIncident(service, merchant);
    expect(paid).toMatchObject({ kind: 'amount_mismatch', amountCents: 700 });
    expect((await resolve(service, paid.id, 'credit')).code).toBe(0);
    expect(await statusOf(service, made.id)).toBe('paid');
    expect(await merchant.balanceCents()).toBe(700);
    expect(await sums(service, merchant)).toEqual({ suspense: 0, adjustments: 0 });
  });
});
