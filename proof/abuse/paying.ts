import type { Stand } from './stand.ts';

/** Merchants beside the attack: they measure what they wait, and keep what the service has acknowledged. */
export interface Measured {
  calls: number;
  p50Ms: number;
  p99Ms: number;
  slowestMs: number;
  /** Answers that asked to come back. */
  repeated: number;
  /** Charges that were paid and reported. */
  paid: number;
  slowestPaidMs: number;
  /** Transfers that were acknowledged. */
  transfers: number;
}

export interface Times {
  calls: number[];
  repeated: number;
  paid: number[];
  transfers: number;
}

const paidWithinMs = 60_000;
const answeredWithinMs = 30_000;
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export const noTimes = (): Times => ({ calls: [], repeated: 0, paid: [], transfers: 0 });

export function measuredOf(...all: Times[]): Measured {
  const calls = all.flatMap((one) => one.calls).toSorted((a, b) => a - b);
  const at = (part: number) => Math.round(calls[Math.floor(part * (calls.length - 1))] ?? 0);
  const paid = all.flatMap((one) => one.paid);
  return {
    calls: calls.length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    slowestMs: at(1),
    repeated: all.reduce((sum, one) => sum + one.repeated, 0),
    paid: paid.length,
    slowestPaidMs: Math.round(Math.max(0, ...paid)),
    transfers: all.reduce((sum, one) => sum + one.transfers, 0),
  };
}

/**
 * Each merchant reads five times a second. Once a second it makes a charge, pays it at the provider and waits until it is reported; once in
 * two seconds it sends a transfer.
 */
export function payingMerchants({ targets, paying, simulatorUrl }: Stand) {
  const faults: string[] = [];
  /** Payments that were answered 201, by id. */
  const acknowledged = new Map<string, { key: string; kind: 'charge' | 'transfer' }>();

  /**
   * A refusal that asks to come back (503, 429) is repeated as the documents say, under the same request key: what counts is how long a
   * merchant waits for its answer in all.
   */
  async function call(
    times: Times,
    key: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: { id?: string; status?: string } }> {
    const began = performance.now();
    for (;;) {
      const answer = await fetch(`${targets.url}/api/v1/public${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const got = (await answer.json()) as { id?: string; status?: string };
      const again = answer.headers.get('retry-after');
      if (again !== null && answer.status >= 400 && performance.now() - began < answeredWithinMs) {
        times.repeated++;
        await sleep(Number(again) * 1000);
        continue;
      }
      times.calls.push(performance.now() - began);
      if (answer.status >= 400)
        faults.push(
          `${method} ${path} of a paying merchant answered ${answer.status} ${JSON.stringify(got)}`,
        );
      return { status: answer.status, body: got };
    }
  }

  async function bePaid(times: Times, key: string, amountCents = 2000): Promise<void> {
    const charge = {
      amountCents,
      payerName: 'Maria',
      description: '',
      requestKey: crypto.randomUUID(),
    };
    const { status, body } = await call(times, key, 'POST', '/pix/charges', charge);
    if (status !== 201 || !body.id) return;
    acknowledged.set(body.id, { key, kind: 'charge' });
    const began = performance.now();
    await fetch(`${simulatorUrl}/control/charges/${body.id.replaceAll('-', '')}/pay`, { method: 'POST' });
    while ((await call(times, key, 'GET', `/payments/${body.id}`)).body.status !== 'paid') {
      if (performance.now() - began > paidWithinMs) {
        faults.push(`charge ${body.id} was paid and not reported within ${paidWithinMs} ms`);
        return;
      }
      await sleep(100);
    }
    times.paid.push(performance.now() - began);
  }

  async function pay(times: Times, key: string): Promise<void> {
    const transfer = {
      amountCents: 1000,
      pixKey: 'maria@loja.example',
      pixKeyType: 'EMAIL',
      description: '',
      requestKey: crypto.randomUUID(),
    };
    const { status, body } = await call(times, key, 'POST', '/pix/transfers', transfer);
    if (status !== 201 || !body.id) return;
    acknowledged.set(body.id, { key, kind: 'transfer' });
    times.transfers++;
  }

  const every = async (ms: number, until: number, work: () => Promise<unknown>): Promise<void> => {
    while (performance.now() < until) {
      const began = performance.now();
      await work().catch((error: Error) => faults.push(`no answer: ${error.message}`));
      await sleep(Math.max(0, ms - (performance.now() - began)));
    }
  };

  return {
    faults,
    acknowledged: () => acknowledged.size,
    async run(ms: number): Promise<Times> {
      const times = noTimes();
      const until = performance.now() + ms;
      await Promise.all(
        paying.flatMap(({ key }) => [
          every(200, until, () => call(times, key, 'GET', '/account')),
          every(1000, until, () => bePaid(times, key)),
          every(2000, until, () => pay(times, key)),
        ]),
      );
      return times;
    },
    /** Money for the first transfers. */
    async begin(): Promise<void> {
      for (const { key } of paying) for (let n = 0; n < 3; n++) await bePaid(noTimes(), key, 200_000);
    },
    /** @returns payments that were acknowledged and have not come to their end, or are not there */
    async missing(withinMs: number): Promise<string[]> {
      const open = new Map(acknowledged);
      const until = performance.now() + withinMs;
      let said: string[] = [];
      while (open.size > 0 && performance.now() < until) {
        said = [];
        for (const [id, { key, kind }] of open) {
          const { status, body } = await call(noTimes(), key, 'GET', `/payments/${id}`);
          if (status === 200 && body.status === (kind === 'charge' ? 'paid' : 'completed')) open.delete(id);
          else said.push(`${kind} ${id}: ${status} ${body.status ?? ''}`);
        }
        if (open.size > 0) await sleep(500);
      }
      return open.size === 0 ? [] : said;
    },
  };
}
