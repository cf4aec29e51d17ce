import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Random, random } from '../simulation/random.ts';
import { type Entry, type Final, historyIn, type Truth } from './history.ts';

/** The load of every rig with real processes: clients that record what they saw, and what is compared when all is at rest. */

const base = '/api/v1/public';
const behaviours = [
  'complete',
  'complete',
  'lose-answer',
  'hang',
  'refuse-later',
  'refuse-in-answer',
  'error-500-after-accepting',
  'garbage',
];
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The provider's behaviour is a function of the request key, so that a repeat asks for the same. */
export const pixKeyOf = (requestKey: string): string =>
  `${behaviours[Number.parseInt(requestKey.slice(0, 4), 16) % behaviours.length]}@simulator.example`;

/** Two operations with 2,000 reais less the fee for each charge, of which a transfer of the load takes ten; it begins when the money is there. */
export async function fund(call: Call, simulatorUrl: string, charges = 3): Promise<string[]> {
  const main = (await call('GET', '/account')).body?.operationId as string;
  const named = { name: 'Segunda', requestKey: crypto.randomUUID() };
  const operations = [main, (await call('POST', '/operations', named)).body?.id as string];
  for (const operationId of operations)
    for (let time = 0; time < charges; time++) {
      const charge = await call(
        'POST',
        '/pix/charges',
        { amountCents: 200_000, payerName: 'Maria', requestKey: crypto.randomUUID() },
        operationId,
      );
      await control(
        simulatorUrl,
        'POST',
        `/control/charges/${String(charge.body?.id).replaceAll('-', '')}/pay`,
      );
    }
  const funded = async () => {
    const accounts = await Promise.all(operations.map((id) => call('GET', '/account', undefined, id)));
    return accounts.every(
      ({ body }) =>
        body?.balanceCents === accounts[0]?.body?.balanceCents &&
        Number(body?.balanceCents) > (charges - 1) * 200_000,
    );
  };
  for (let tries = 0; !(await funded()); tries++) {
    if (tries > 300) throw new Error('the operations were not funded within 30 s');
    await pause(100);
  }
  return operations;
}

/** A merchant in a cell, with two operations that have money. */
export interface Merchant {
  cell: string;
  call: Call;
  operations: string[];
}

interface Place {
  /** A command of the program, by its words. */
  run<T>(words: string[]): Promise<T>;
  url: string;
  simulatorUrl: string;
  /** As `fund` takes them. */
  charges?: number;
}

export async function merchantIn(
  cell: string,
  { run, url, simulatorUrl, charges }: Place,
): Promise<Merchant> {
  const named = ['--name', `Loja ${cell}`, '--test', '--cell', cell];
  const { ownerId } = await run<{ ownerId: string }>(['account', 'create', ...named]);
  const { key } = await run<{ key: string }>([
    ...['key', 'create', '--account', ownerId, '--name', 'proof'],
    ...['--permissions', 'read,charges,transfers,operations'],
  ]);
  const call = callWith(url, key);
  return { cell, call, operations: await fund(call, simulatorUrl, charges) };
}

/** All operations, and calls that go to the merchant that has the operation. */
export function loadOf(merchants: readonly Merchant[]): { call: Call; operations: string[] } {
  const callOf = new Map(merchants.flatMap(({ call, operations }) => operations.map((id) => [id, call])));
  const [first] = merchants;
  if (!first) throw new Error('a load needs a merchant');
  return {
    call: (method, path, body, operationId) =>
      (callOf.get(operationId ?? '') ?? first.call)(method, path, body, operationId),
    operations: [...callOf.keys()],
  };
}

/** Disposed of, they end at once: a rig that failed leaves no load behind, which would keep the run from ending. */
export interface Clients extends Disposable {
  counts: { calls: number; unanswered: number; acknowledged: number };
  /** Ends the load: whatever had no answer is repeated with its key. */
  stop(): Promise<void>;
}

export function startClients(options: {
  call: Call;
  operations: readonly string[];
  seed: number;
  clients: number;
  historyPath: string;
}): Clients {
  const { call, operations } = options;
  writeFileSync(options.historyPath, '');
  const history = historyIn(options.historyPath);
  const counts = { calls: 0, unanswered: 0, acknowledged: 0 };
  let stopping = false;
  let dropped = false;
  const clients = Array.from({ length: options.clients }, (_, client) =>
    works(client, random(options.seed * 1000 + client)),
  );
  async function works(client: number, own: Random): Promise<void> {
    const open: Entry[] = [];
    while (!stopping) {
      const operationId = own.pick(operations);
      const what = own.below(10);
      const again = open.length > 0 && what < 3 ? own.pick(open) : null;
      if (what === 9) await record(client, 'account', operationId, null, null);
      else if (what === 8 && open.some(({ paymentId }) => paymentId)) {
        const one = own.pick(open.filter(({ paymentId }) => paymentId));
        await record(client, 'payment', one.operationId, one.requestKey, one.paymentId);
      } else {
        const entry = await record(
          client,
          'transfer',
          again?.operationId ?? operationId,
          again?.requestKey ?? crypto.randomUUID(),
          null,
        );
        if (again) again.paymentId ??= entry.paymentId;
        else open.push(entry);
      }
    }
    // As the guide says, a request without an answer is repeated with the same key.
    for (const entry of open) {
      if (entry.paymentId !== null) continue;
      for (let tries = 0; tries < 20 && !dropped; tries++) {
        const repeated = await record(client, 'transfer', entry.operationId, entry.requestKey, null);
        if (repeated.result !== 'info' && repeated.status !== 503) break;
        await pause(500);
      }
    }
  }

  async function record(
    client: number,
    what: Entry['call'],
    operationId: string,
    requestKey: string | null,
    paymentId: string | null,
  ): Promise<Entry> {
    const invokedAt = Date.now();
    const entry: Entry = {
      client,
      invokedAt,
      returnedAt: null,
      call: what,
      operationId,
      requestKey,
      paymentId,
      amountCents: null,
      result: 'info',
      status: null,
      says: null,
      balanceCents: null,
    };
    try {
      let answer: Answer;
      if (what === 'transfer') {
        const pixKey = pixKeyOf(requestKey ?? '0');
        entry.amountCents = 1_000;
        answer = await call(
          'POST',
          '/pix/transfers',
          { amountCents: 1_000, pixKey, pixKeyType: 'EMAIL', description: '', requestKey },
          operationId,
        );
      } else if (what === 'payment')
        answer = await call('GET', `/payments/${paymentId}`, undefined, operationId);
      else answer = await call('GET', '/account', undefined, operationId);
      const { status, body } = answer;
      entry.returnedAt = Date.now();
      entry.status = status;
      entry.result = status < 300 ? 'ok' : status >= 500 ? 'info' : 'fail';
      entry.says = ((status < 300 ? body?.status : body?.code) as string) ?? null;
      entry.paymentId = ((status < 300 ? body?.id : body?.paymentId) as string) ?? paymentId;
      entry.balanceCents = what === 'account' && status < 300 ? (body?.balanceCents as number) : null;
    } catch {
      await pause(50);
    }
    history.add(entry);
    counts.calls++;
    if (entry.result === 'info') counts.unanswered++;
    if (entry.result === 'ok' && entry.paymentId) counts.acknowledged++;
    return entry;
  }
  return {
    counts,
    stop: async () => {
      stopping = true;
      await Promise.all(clients);
    },
    [Symbol.dispose]: () => {
      stopping = true;
      dropped = true;
    },
  };
}

/**
 * Waits until everything has ended, leaves the provider's truth and the final data in `folder`, and has the checker, a program of its own,
 * compare them with `history.ndjson` there. Returns its faults.
 */
export async function restAndCheck(
  folder: string,
  call: Call,
  simulatorUrl: string,
  operations: readonly string[],
): Promise<string[]> {
  const faults: string[] = [];
  // At rest: what is open at the provider is decided, and everything ends.
  let final: Final = { operations: [], payments: [] };
  const deadline = Date.now() + 150_000;
  for (;;) {
    const truth = (await control(simulatorUrl, 'GET', '/control/state')) as unknown as Truth;
    for (const { idEnvio, status } of truth.payouts)
      if (status === 'pending')
        await control(simulatorUrl, 'POST', `/control/payouts/${idEnvio}/complete`).catch(() => {});
    final = await finalOf(call, operations);
    if (final.payments.every(({ status }) => status !== 'unknown' && status !== 'pending')) break;
    if (Date.now() > deadline) {
      faults.push('not everything came to an end within 150 s');
      break;
    }
    await pause(1_000);
  }
  const truth = (await control(simulatorUrl, 'GET', '/control/state')) as unknown as Truth;
  writeFileSync(join(folder, 'truth.json'), JSON.stringify(truth));
  writeFileSync(join(folder, 'final.json'), JSON.stringify(final));
  const checker = fileURLToPath(new URL('./check-history.ts', import.meta.url));
  const files = ['history.ndjson', 'truth.json', 'final.json'].map((name) => join(folder, name));
  const checked = spawnSync(process.execPath, [checker, ...files], { encoding: 'utf8', maxBuffer: 64 << 20 });
  const said = 'invariant of the history: ';
  const found = checked.stdout.split('\n').filter((line) => line.startsWith(said));
  faults.push(...found.map((line) => line.slice(said.length)));
  if (checked.status !== 0 && found.length === 0)
    faults.push(`the checker ended: ${checked.stderr.slice(0, 500)}`);
  return faults;
}

async function finalOf(call: Call, operations: readonly string[]): Promise<Final> {
  const final: Final = { operations: [], payments: [] };
  for (const operationId of operations) {
    const account = (await call('GET', '/account', undefined, operationId)).body;
    final.operations.push({
      id: operationId,
      balanceCents: account?.balanceCents as number,
      reservedCents: account?.reservedWithdrawalCents as number,
    });
    for (let cursor: string | null = null; ; ) {
      const page: Answer = await call(
        'GET',
        `/payments?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
        undefined,
        operationId,
      );
      const listed = page.body as unknown as {
        payments?: Final['payments'];
        data?: Final['payments'];
        nextCursor?: string | null;
      };
      final.payments.push(...(listed.payments ?? listed.data ?? []));
      if (!listed.nextCursor) break;
      cursor = listed.nextCursor;
    }
  }
  return final;
}

interface Answer {
  status: number;
  body: Record<string, unknown> | null;
}
export type Call = (method: string, path: string, body?: object, operationId?: string) => Promise<Answer>;

export const callWith =
  (url: string, key: string): Call =>
  async (method, path, body, operationId) => {
    const answer = await fetch(url + base + path, {
      method,
      signal: AbortSignal.timeout(15_000),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(operationId ? { 'x-service-operation': operationId } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
  };

export async function control(url: string, method: string, path: string): Promise<Record<string, unknown>> {
  const answer = await fetch(url + path, { method, signal: AbortSignal.timeout(15_000) });
  return (await answer.json()) as Record<string, unknown>;
}
