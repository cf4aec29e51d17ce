import { type Program, programOn, testMerchant } from '@vintem/testkit/program.ts';
import { type Merchant, type Simulator, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** kill -9 of every process, the database included, in the middle of transfers: what became of each. */

let program: Program;
let merchant: Merchant;
let simulator: Simulator;

beforeAll(async () => {
  program = await programOn();
  await program.start();
  ({ merchant, simulator } = await testMerchant(program));
});
afterAll(() => program?.remove(), 30_000);

describe('killed in the middle of transfers and started again', () => {
  const behaviours = ['complete', 'lose-answer', 'hang', 'refuse-later', 'error-500-after-accepting'];
  const requests: { requestKey: string; pixKey: string }[] = [];

  test('nothing is lost, nothing is paid twice, and every balance is right', async () => {
    await merchant.receive(400_000);
    for (const [round, killAfterMs] of [60, 150, 400].entries()) {
      const batch = Array.from({ length: 40 }, (_, index) => ({
        requestKey: crypto.randomUUID(),
        pixKey: `${behaviours[(round + index) % behaviours.length]}@simulator.example`,
      }));
      requests.push(...batch);
      // Whether a caller gets an answer is chance here; what it may conclude from one is not.
      const answers = batch.map((request) => merchant.transfer(request).catch(() => null));
      await new Promise((resolve) => setTimeout(resolve, killAfterMs));
      await program.kill();
      const heard = (await Promise.all(answers)).filter((answer) => answer !== null);
      await program.start();
      for (const { body, status } of heard) {
        if (status !== 201) continue;
        expect((await merchant.call('GET', `/payments/${body.id}`)).status).toBe(200);
      }
    }

    // As the guide says, the client repeats the same requests with the same keys, and waits for `Retry-After`.
    const repeat = async (request: (typeof requests)[number]): ReturnType<Merchant['transfer']> => {
      const answer = await merchant.transfer(request);
      if (answer.status !== 503) return answer;
      const waitMs = 1_000 * Number(answer.headers.get('retry-after'));
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      return repeat(request);
    };
    const repeated = await Promise.all(requests.map(repeat));
    const ids = repeated.map(({ body }) => (body.id ?? body.paymentId) as string);
    expect(new Set(ids).size).toBe(requests.length);
    const final = async (id: string) =>
      ['completed', 'cancelled'].includes((await merchant.call('GET', `/payments/${id}`)).body.status);
    await until(async () => (await Promise.all(ids.map(final))).every(Boolean));

    let completed = 0;
    for (const [index, id] of ids.entries()) {
      const { status } = (await merchant.call('GET', `/payments/${id}`)).body;
      const truth = await simulator.payout(id);
      expect(truth?.timesAccepted, `${requests[index]?.pixKey} ${id}`).toBeLessThanOrEqual(1);
      expect(status).toBe(truth?.status === 'completed' ? 'completed' : 'cancelled');
      if (status === 'completed') completed++;
    }
    expect(completed).toBeGreaterThan(50);
    const account = (await merchant.call('GET', '/account')).body;
    expect(account).toMatchObject({ balanceCents: 400_000 - completed * 1000, reservedWithdrawalCents: 0 });
    const { balanceCents } = (await simulator.control('GET', '/control/state')).body;
    expect(balanceCents).toBe(400_000 - completed * 975);
  });
});
