import { freePort } from '@vintem/testkit/free-port.ts';
import {
  type Dialect,
  type Merchant,
  openService,
  questionToken,
  type Service,
  until,
} from '@vintem/testkit/service.ts';
import {
  fillQueryLimit,
  incidentsOf,
  journalsOf,
  providerIdOf,
  statusOf,
  webhookTokenOf,
} from '@vintem/testkit/settlement.ts';
import { violations } from '@vintem/testkit/verified.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { stepStatement } from '../../src/jobs/statement.ts';
import { dismissLine, listOpenLines, stepStatementLines } from '../../src/jobs/statement-lines.ts';
import { storyOf } from '../../src/operate/look.ts';
import { reconcile } from '../../src/operate/reconcile.ts';
import { listUnread } from '../../src/operate/unread/unread-items.ts';
import type { Provider } from '../../src/provider/provider.ts';

/** A merchant's day in every protocol: the whole service, and only the adapter differs. */
interface Protocol {
  dialect: Dialect;
  sends: boolean;
  /** It gives received Pix back. */
  refunds: boolean;
  /** It reports payouts that come back. */
  tellsReturns: boolean;
}

const protocols: Protocol[] = [
  { dialect: 'efi', sends: true, refunds: true, tellsReturns: true },
  { dialect: 'woovi', sends: true, refunds: true, tellsReturns: true },
  { dialect: 'inter', sends: true, refunds: true, tellsReturns: false },
  { dialect: 'stark', sends: true, refunds: false, tellsReturns: true },
  { dialect: 'asaas', sends: true, refunds: true, tellsReturns: false },
  { dialect: 'sicredi', sends: false, refunds: true, tellsReturns: false },
];

describe.each(protocols)('in the protocol of $dialect', ({ dialect, sends, refunds, tellsReturns }) => {
  let service: Service;
  beforeAll(async () => {
    service = await openService({ dialect });
  });
  afterAll(() => service?.close());

  const becomes = (id: string, status: string) => until(async () => (await statusOf(service, id)) === status);
  const funded = async () => {
    const merchant = await service.newMerchant();
    await merchant.receive(20_000);
    return merchant;
  };

  if (sends) aboutTransfers();
  else
    test('a charge is paid, and a transfer is refused before anything is reserved', async () => {
      const merchant = await funded();
      const { status, body } = await merchant.transfer({ amountCents: 3000 });
      expect([status, body.code]).toEqual([400, 'not_offered_by_provider']);
      expect(await merchant.balanceCents()).toBe(20_000);
      expect((await merchant.call('GET', '/account')).body.reservedWithdrawalCents).toBe(0);
    });
  aboutUnknownRefusals();
  if (dialect === 'efi' || dialect === 'woovi') aboutNewAccounts();
  if (tellsReturns) aboutReturns();
  if (dialect === 'asaas') aboutQuestions();
  if (refunds) aboutRefunds();
  else
    test('a refund is refused before anything is reserved', async () => {
      const merchant = await funded();
      const { body: charge } = await merchant.charge({ amountCents: 2000 });
      await service.simulator.control('POST', `/control/charges/${providerIdOf(charge.id)}/pay`);
      await becomes(charge.id, 'paid');
      const asked = { requestKey: crypto.randomUUID(), amountCents: 500 };
      const { body } = await merchant.call('POST', `/payments/${charge.id}/refunds`, asked);
      expect(body.code).toBe('payment_not_refundable');
      expect((await merchant.call('GET', '/account')).body.reservedWithdrawalCents).toBe(0);
    });
  // Behind the invariants: money that nothing books is a difference.
  if (dialect === 'asaas') aboutReturnsOfTheStatement();

  /**
   * Log, metric and the story of the payment name an answer of the provider that is in no table.
   * @param call as the metric names it
   * @param ask what is asked for meanwhile. @returns `of`: whose story it is; `id`: of what was asked for, where that is another
   */
  async function isNamed(
    call: string,
    merchant: Merchant,
    ask: () => Promise<{ of: string; id?: string }>,
  ): Promise<void> {
    const warned = vi.spyOn(service.cellOf(merchant).log, 'warn');
    const { of, id = of } = await ask();
    await until(async () => (await storyOf(service.runtime, of)).words.length > 0);
    const error = (await storyOf(service.runtime, of)).words.at(0)?.name ?? '';
    expect(error).toMatch(/^4\d\d \S/);
    expect(warned.mock.calls).toContainEqual([
      { connection: 'simulator', paymentId: id, error },
      expect.stringContaining('vintem payment show'),
    ]);
    const counted = [...service.runtime.measures.providerErrors.all()].map(({ labels }) => labels);
    expect(counted).toContainEqual(['simulator', call, error]);
    warned.mockRestore();
    await service.simulator.behave({});
  }

  function aboutUnknownRefusals() {
    test('A refusal of a charge that is in no table is named by log, metric and the story of the payment', async () => {
      const merchant = await service.newMerchant();
      await service.simulator.behave({ charge: 'refuse-unknown' });
      await isNamed('create_charge', merchant, async () => {
        const { body } = await merchant.charge({ amountCents: 2000 });
        return { of: body.id ?? body.paymentId };
      });
    });

    const cancels = dialect !== 'stark';
    test.runIf(cancels)('and so is one of a cancel', async () => {
      const merchant = await service.newMerchant();
      const { body } = await merchant.charge({ amountCents: 2000 });
      await service.simulator.behave({ cancel: 'refuse' });
      await isNamed('cancel_charge', merchant, async () => {
        await merchant.call('POST', `/payments/${body.id}/cancel`);
        const [cancel] = await service.database.admin<{ id: string }>(
          'SELECT id FROM charge_cancel WHERE payment_id = $1',
          [body.id],
        );
        return { of: body.id, id: cancel?.id ?? '' };
      });
    });

    test.runIf(refunds)('and so is one of a refund', async () => {
      const merchant = await funded();
      const { body: charge } = await merchant.charge({ amountCents: 2000 });
      await service.simulator.control('POST', `/control/charges/${providerIdOf(charge.id)}/pay`);
      await becomes(charge.id, 'paid');
      await isNamed('send_refund', merchant, async () => {
        // By its message and not by a setting, which ends before it is sent again: taken then, it could be under way while books and provider are compared.
        const { body } = await merchant.call('POST', `/payments/${charge.id}/refunds`, {
          ...{ requestKey: crypto.randomUUID(), amountCents: 500 },
          description: 'refuse-unknown@simulator.example',
        });
        return { of: charge.id, id: body.id };
      });
    });

    test.runIf(dialect === 'woovi')(
      'A refusal of a static code is named by log and metric, with the words that nothing else keeps',
      async () => {
        const merchant = await service.newMerchant();
        const warned = vi.spyOn(service.runtime.log, 'warn');
        await service.simulator.behave({ charge: 'refuse-unknown' });
        const order = { name: 'Mesa 7', amountCents: 1000, requestKey: crypto.randomUUID() };
        expect((await merchant.call('POST', '/static-codes', order)).body.code).toBe('provider_unavailable');
        await service.simulator.behave({});
        const said = {
          connection: 'simulator',
          call: 'create_static_code',
          error: expect.stringMatching(/^422 \S/),
        };
        expect(warned.mock.calls).toContainEqual([
          { ...said, message: 'Recusa que nenhuma tabela contém' },
          'the provider did not take a call',
        ]);
        const counted = [...service.runtime.measures.providerErrors.all()].map(({ labels }) => labels);
        expect(counted).toContainEqual(['simulator', 'create_static_code', said.error]);
        warned.mockRestore();
        expect((await merchant.call('POST', '/static-codes', order)).status).toBe(201);
      },
    );

    test.runIf(dialect === 'woovi')('and so is one of the second step of a payout', async () => {
      const merchant = await funded();
      await service.simulator.behave({ confirm: 'refuse-unknown' });
      let id = '';
      await isNamed('confirm_payout', merchant, async () => {
        const { body } = await merchant.transfer({ amountCents: 1000 });
        id = body.id ?? body.paymentId;
        return { of: id };
      });
      // It is confirmed again, and not under way any more when books and provider are compared.
      await becomes(id, 'completed');
    });

    test.runIf(['efi', 'woovi'].includes(dialect))('and so is one of a charge with a due date', async () => {
      const merchant = await service.newMerchant();
      await service.simulator.behave({ charge: 'refuse-unknown' });
      await isNamed('create_due_charge', merchant, async () => {
        const dueDate = new Date(Date.now() + 20 * 86_400_000).toISOString().slice(0, 10);
        const address = { street: 'Rua A, 1', city: 'Recife', state: 'PE', postalCode: '50030000' };
        const { body } = await merchant.call('POST', '/pix/due-charges', {
          ...{ amountCents: 2000, dueDate, requestKey: crypto.randomUUID() },
          payer: { name: 'Maria', document: '11144477735', address },
        });
        return { of: body.id ?? body.paymentId };
      });
    });
  }

  function aboutNewAccounts() {
    test('An address is registered when this service answers at it, and one where nothing listens is refused', async () => {
      await service.simulator.behave({ registration: 'checked' });
      const provider = service.runtime.providers.get('simulator') as Provider;
      const token = await webhookTokenOf(service);
      await provider.registerWebhook(`${service.url}/hooks/providers/simulator/${token}`);
      const closed = `http://127.0.0.1:${await freePort()}/hooks/providers/simulator/${token}`;
      await expect(provider.registerWebhook(closed)).rejects.toThrow('did not take our webhook address');
      // The earlier address stays: a delivery comes.
      await service.simulator.behave({});
      await funded();
    });

    test('A transfer beyond the limit of a new account gives the money back', async () => {
      const merchant = await funded();
      await service.simulator.behave({ account: 'new' });
      const { body } = await merchant.transfer({ amountCents: 3000 });
      const id = body.id ?? body.paymentId;
      await becomes(id, 'cancelled');
      await service.simulator.behave({});
      expect(await journalsOf(service, id)).toEqual(['reserve', 'release']);
      expect(await merchant.balanceCents()).toBe(20_000);
    });
  }

  function aboutTransfers() {
    test('a charge is paid, a transfer completes, and the books hold what the provider holds', async () => {
      const merchant = await funded();
      const { body } = await merchant.transfer({ amountCents: 3000 });
      await becomes(body.id, 'completed');
      expect(await journalsOf(service, body.id)).toEqual(['reserve', 'complete']);
      expect(await merchant.balanceCents()).toBe(17_000);
      expect(await service.simulator.payout(body.id)).toMatchObject({
        status: 'completed',
        timesAccepted: 1,
      });
    });

    test.each(['refuse-in-answer', 'refuse-later', 'pix-key-not-found'])(
      '%s gives the money back',
      async (fate) => {
        const merchant = await funded();
        const { body } = await merchant.transfer({ pixKey: `${fate}@simulator.example` });
        const id = body.id ?? body.paymentId;
        await becomes(id, 'cancelled');
        expect(await journalsOf(service, id)).toEqual(['reserve', 'release']);
        expect(await merchant.balanceCents()).toBe(20_000);
      },
    );

    test('what the provider never answered for stays unknown, with its reserve', async () => {
      const merchant = await funded();
      const { body } = await merchant.transfer({ pixKey: 'error-500@simulator.example' });
      const id = body.id ?? body.paymentId;
      expect(await statusOf(service, id)).toBe('unknown');
      expect((await merchant.call('GET', '/account')).body.reservedWithdrawalCents).toBe(1000);
    });

    test('A refusal that is in no table keeps the reserve, and log, metric and the story of the payment name it', async () => {
      const merchant = await funded();
      await isNamed('send_payout', merchant, async () => {
        const { body } = await merchant.transfer({ pixKey: 'refuse-unknown@simulator.example' });
        const id = body.id ?? body.paymentId;
        expect(await statusOf(service, id)).toBe('unknown');
        expect((await merchant.call('GET', '/account')).body.reservedWithdrawalCents).toBe(1000);
        return { of: id };
      });
    });

    test('a transfer whose answer is lost completes, and is paid once', async () => {
      const merchant = await funded();
      const { body } = await merchant.transfer({ pixKey: 'lose-answer@simulator.example' });
      const id = body.id ?? body.paymentId;
      await becomes(id, 'completed');
      expect(await service.simulator.payout(id)).toMatchObject({ status: 'completed', timesAccepted: 1 });
      expect(await journalsOf(service, id)).toEqual(['reserve', 'complete']);
    });

    test('a payout that waits for a person stays open, and completes when that person approves it', async () => {
      const merchant = await funded();
      const { body } = await merchant.transfer({ pixKey: 'hold-for-approval@simulator.example' });
      expect(['unknown', 'pending']).toContain(await statusOf(service, body.id));
      expect((await merchant.call('GET', '/account')).body.reservedWithdrawalCents).toBe(1000);
      await service.simulator.control('POST', `/control/payouts/${providerIdOf(body.id)}/complete`);
      await becomes(body.id, 'completed');
    });
  }

  function aboutReturns() {
    test('a completed payout that comes back in parts is credited once for each', async () => {
      const merchant = await funded();
      const { body } = await merchant.transfer({ amountCents: 1000 });
      await becomes(body.id, 'completed');
      await service.simulator.behave({ webhook: 'duplicate' });
      for (const amountCents of [300, 200])
        await service.simulator.control('POST', `/control/payouts/${providerIdOf(body.id)}/return`, {
          amountCents,
        });
      await until(async () => (await journalsOf(service, body.id)).length === 4);
      expect(await journalsOf(service, body.id)).toEqual(['reserve', 'complete', 'return', 'return']);
      expect(await merchant.balanceCents()).toBe(19_500);
      expect(await incidentsOf(service, body.id)).toEqual([]);
      await service.simulator.behave({});
    });
  }

  /** The provider asks before a payout leaves, and another holder of its API key makes transfers as well. */
  function aboutQuestions() {
    const ask = async (transfer: object, token = questionToken): Promise<[number, string | undefined]> => {
      const answer = await fetch(`${service.url}/hooks/providers/simulator/withdrawals`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'asaas-access-token': token },
        body: JSON.stringify({ type: 'TRANSFER', transfer }),
      });
      const { status } = answer.status === 200 ? ((await answer.json()) as { status: string }) : {};
      return [answer.status, status];
    };
    const transferOf = (
      id: string,
      providerRef: string,
      value = 9.75,
      key = 'error-500@simulator.example',
    ) => ({
      ...{ id: providerRef, value, status: 'PENDING', externalReference: providerIdOf(id) },
      ...{ type: 'BANK_ACCOUNT', operationType: 'PIX' },
      bankAccount: { pixAddressKey: key },
    });

    test('What happens to an API key at the provider is kept for a person, once', async () => {
      await funded();
      const logged = vi.spyOn(service.runtime.log, 'error');
      onTestFinished(() => logged.mockRestore());
      for (const event of [
        'ACCESS_TOKEN_EXPIRING_SOON',
        'ACCESS_TOKEN_EXPIRING_SOON',
        'ACCESS_TOKEN_EXPIRED',
      ])
        await service.simulator.control('POST', `/control/keys/${event}`);
      const kept = async () => (await listUnread(service.runtime)).filter(({ kind }) => kind === 'key');
      const said = () => logged.mock.calls.filter(([, text]) => String(text).includes('API key'));
      // The log comes behind the row.
      await until(async () => said().length === 2);
      expect(await kept()).toHaveLength(2);
      await service.database.admin(`DELETE FROM unread_item WHERE kind = 'key'`);
    });

    test('One transfer of a payment under way is approved, of its amount and to its key alone', async () => {
      const merchant = await funded();
      const { body } = await merchant.transfer({ pixKey: 'error-500@simulator.example' });
      const id = body.id ?? body.paymentId;
      expect(await ask(transferOf(id, 'one'), 'x'.repeat(32))).toEqual([404, undefined]);
      expect(await ask(transferOf(id, 'one', 9.76))).toEqual([200, 'REFUSED']);
      expect(await ask(transferOf(id, 'one', 9.75, 'ladrao@example.com'))).toEqual([200, 'REFUSED']);
      const ours = transferOf(id, 'one');
      for (const elsewhere of [
        { ...ours, bankAccount: { pixAddressKey: null } },
        { ...ours, operationType: 'TED' },
        { ...ours, type: 'ASAAS_ACCOUNT' },
      ])
        expect(await ask(elsewhere)).toEqual([200, 'REFUSED']);
      expect(await ask(transferOf(crypto.randomUUID(), 'one'))).toEqual([200, 'REFUSED']);
      expect(await ask({ id: 'one', value: 9.75, status: 'PENDING' })).toEqual([200, 'REFUSED']);
      const logged = vi.spyOn(service.runtime.log, 'error');
      onTestFinished(() => logged.mockRestore());
      expect(await ask({ ...ours, externalReference: 'maria@loja.example' })).toEqual([200, 'REFUSED']);
      expect(logged).toHaveBeenCalledOnce();
      expect(JSON.stringify(logged.mock.calls)).not.toContain('maria@loja.example');
      const both = await Promise.all([ask(transferOf(id, 'one')), ask(transferOf(id, 'two'))]);
      expect(both.map(([, status]) => status).toSorted()).toEqual(['APPROVED', 'REFUSED']);
      const [first, second] = both[0]?.[1] === 'APPROVED' ? ['one', 'two'] : ['two', 'one'];
      expect(await ask(transferOf(id, first))).toEqual([200, 'APPROVED']);
      expect(await ask(transferOf(id, second))).toEqual([200, 'REFUSED']);
    });

    test('A second transfer under the id of a payment does not leave, and nothing comes of its end', async () => {
      const merchant = await funded();
      const { body } = await merchant.transfer({ amountCents: 3000 });
      await becomes(body.id, 'completed');
      const secret = service.runtime.secrets.derive('simulator client').toString('hex');
      const make = async (externalReference: string) => {
        const answer = await fetch(`${service.simulator.url}/v3/transfers`, {
          method: 'POST',
          headers: { access_token: `$aact_hmlg_${Buffer.from(`vintem:${secret}`).toString('base64')}` },
          body: JSON.stringify({
            ...{ value: 29.75, operationType: 'PIX', externalReference },
            ...{ pixAddressKey: 'maria@loja.example', pixAddressKeyType: 'EMAIL' },
          }),
        });
        expect(answer.status).toBe(200);
      };
      await make(providerIdOf(body.id));
      const second = `/control/state?idEnvio=${providerIdOf(body.id)}~2`;
      await until(async () => {
        const { body: state } = await service.simulator.control('GET', second);
        return state.payouts[0]?.status === 'refused';
      });
      expect(await statusOf(service, body.id)).toBe('completed');
      expect(await journalsOf(service, body.id)).toEqual(['reserve', 'complete']);
    });
  }

  /** Its answer about a payout names no return: the list of Pix alone has it. */
  function aboutReturnsOfTheStatement() {
    test('A payout that its receiver gives back is a line for operators, and a comparison finds it again', async () => {
      const merchant = await funded();
      const { body } = await merchant.transfer({ amountCents: 1000 });
      await becomes(body.id, 'completed');
      const { runtime } = service;
      const provider = runtime.providers.get('simulator');
      if (!provider) throw new Error('no provider');
      const open = async () =>
        (await listOpenLines(runtime)).filter(({ providerId }) => providerId === providerIdOf(body.id));
      await service.simulator.control('POST', `/control/payouts/${providerIdOf(body.id)}/return`, {
        amountCents: 300,
      });
      await runtime.sql.run({
        name: 'read_again',
        text: `WITH due AS (UPDATE job SET due_at = 'epoch' WHERE what = 'statement')
          UPDATE connection SET statement_read_to = now() - interval '1 hour', statement_pass_at = NULL`,
      });
      await until(async () => {
        await fillQueryLimit(service);
        await stepStatement(runtime, provider);
        return (await open()).length > 0;
      });
      const line = { kind: 'returned' as const, amountCents: 300 };
      expect(await open()).toMatchObject([{ ...line, tries: 1 }]);
      await runtime.sql.run({ name: 'lines_due', text: `UPDATE statement_line SET next_at = 'epoch'` });
      await until(async () => {
        await fillQueryLimit(service);
        await stepStatementLines(runtime, provider);
        return (await open())[0]?.tries !== 1;
      });
      const [kept] = await open();
      expect(kept).toMatchObject({ ...line, tries: 2 });
      const operator = { ...runtime, actor: 'tester' };
      if (kept) await dismissLine(operator, 'simulator', kept, 'compared by hand');
      await fillQueryLimit(service);
      await reconcile(runtime, operator, { accountId: null, sinceMs: null });
      expect(await open()).toMatchObject([line]);
      expect(await journalsOf(service, body.id)).toEqual(['reserve', 'complete']);
    });
  }

  function aboutRefunds() {
    /** A charge that was paid, and a refund of a part of it. */
    const refundOf = async (description: string) => {
      const merchant = await funded();
      const { body: charge } = await merchant.charge({ amountCents: 2000 });
      await service.simulator.control('POST', `/control/charges/${providerIdOf(charge.id)}/pay`);
      await becomes(charge.id, 'paid');
      const before = await merchant.balanceCents();
      const { status, body } = await merchant.call('POST', `/payments/${charge.id}/refunds`, {
        requestKey: crypto.randomUUID(),
        amountCents: 500,
        description,
      });
      expect(status).toBe(201);
      const ends = (as: string) =>
        until(async () => (await merchant.call('GET', `/refunds/${body.id}`)).body.status === as);
      return { merchant, charge, id: body.id as string, before, ends };
    };

    test('a refund gives a part of a charge back, once, and its own return is no money taken back', async () => {
      const { merchant, charge, id, before, ends } = await refundOf('Item devolvido');
      await ends('completed');
      expect(await merchant.balanceCents()).toBe(before - 500);
      expect(await journalsOf(service, id)).toEqual(['refundReserve', 'refundComplete']);
      expect(await journalsOf(service, charge.id)).toEqual(['credit']);
      expect(await incidentsOf(service, charge.id)).toEqual([]);
    });

    test('a refund whose answer is lost is found and completes once', async () => {
      const { merchant, id, before, ends } = await refundOf('lose-answer@simulator.example');
      await ends('completed');
      expect(await merchant.balanceCents()).toBe(before - 500);
      expect(await journalsOf(service, id)).toEqual(['refundReserve', 'refundComplete']);
    });

    test('a refund that fails later leaves the money with the merchant', async () => {
      const { merchant, id, before, ends } = await refundOf('refuse-later@simulator.example');
      await ends('failed');
      expect(await merchant.balanceCents()).toBe(before);
      expect(await journalsOf(service, id)).toEqual(['refundReserve', 'refundRelease']);
    });

    test('afterwards every invariant holds, and the provider’s own truth agrees', async () => {
      expect(await violations(service)).toEqual([]);
    });
  }
});
