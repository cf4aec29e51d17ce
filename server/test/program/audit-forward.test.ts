import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addCells } from '@vintem/testkit/cells.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Runtime } from '../../src/main/runtime.ts';
import { setConditions } from '../../src/operate/accounts/conditions.ts';
import { createAuditForward } from '../../src/operate/audit/forward.ts';
import { auditLine } from '../../src/operate/audit/line.ts';
import { auditPages } from '../../src/operate/find.sql.ts';

import { pauseWithdrawals } from '../../src/operate/pause.ts';
import { installationId } from '../../src/store/rows/audit.sql.ts';

/** The audit log at a receiver of OTLP that answers, refuses, dies in the middle and comes back. */

interface Line {
  ownerId: string;
  id: string;
  seq: number;
}
interface Sent extends Line {
  attributes: Record<string, string>;
  times: [string, string];
}

/** A fate of a request: it is taken, answered with a status, or read by a receiver that dies before it answers. */
type Fate = 'take' | 'die' | { status: number; headers?: Record<string, string>; body?: object };

interface Receiver {
  url: string;
  /** Of every request that it has heard, the lost ones too. */
  heard: Sent[][];
  /** Of those that it answered with a success. */
  taken: Sent[][];
  headers: IncomingHttpHeaders[];
  fate: (rows: readonly Sent[]) => Fate;
  close(): void;
}

const receivers: Receiver[] = [];

async function openReceiver(): Promise<Receiver> {
  const server: Server = createServer(async (request, answer) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const rows = rowsOf(JSON.parse(Buffer.concat(parts).toString()));
    receiver.headers.push(request.headers);
    receiver.heard.push(rows);
    const fate = receiver.fate(rows);
    if (fate === 'die') {
      request.socket.destroy();
      return;
    }
    if (fate === 'take') receiver.taken.push(rows);
    const { status, headers, body } = fate === 'take' ? { status: 200, headers: {}, body: {} } : fate;
    answer
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    ...{ url: `http://127.0.0.1:${port}/v1/logs`, heard: [], taken: [], headers: [], fate: () => 'take' },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  receivers.push(receiver);
  return receiver;
}

interface OtlpRecord {
  timeUnixNano: string;
  observedTimeUnixNano: string;
  body: { stringValue: string };
  attributes: { key: string; value: Record<string, string> }[];
}

const rowsOf = ({
  resourceLogs,
}: {
  resourceLogs: { scopeLogs: { logRecords: OtlpRecord[] }[] }[];
}): Sent[] =>
  resourceLogs
    .flatMap(({ scopeLogs }) => scopeLogs)
    .flatMap(({ logRecords }) => logRecords)
    .map(({ timeUnixNano, observedTimeUnixNano, body, attributes }) => ({
      ...(JSON.parse(body.stringValue) as Line),
      attributes: Object.fromEntries(
        attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? '']),
      ),
      times: [timeUnixNano, observedTimeUnixNano],
    }));

let service: Service;
beforeAll(async () => {
  service = await openService({ worker: false });
});
afterAll(() => service?.close());
afterEach(() => {
  for (const receiver of receivers.splice(0)) receiver.close();
});

/** A process that has just begun: it remembers nothing of the one before. */
const forwardOf = (cell: Runtime, { url }: Receiver, headers = {}) =>
  createAuditForward({ ...cell, auditForward: { url, headers } });

/** As the loop of a worker: a step that failed is made again. */
async function runOut({ step }: { step(): Promise<boolean> }): Promise<string[]> {
  const failures: string[] = [];
  for (let left = 300; left > 0; left--) {
    const more = await step().catch((error: Error) => failures.push(error.message) > 0);
    if (!more) return failures;
  }
  throw new Error(`no end: ${failures.at(-1)}`);
}

async function act(runtime: Runtime, ownerId: string, times: number): Promise<void> {
  for (let done = 0; done < times; done++)
    await setConditions({ ...runtime, actor: 'tester' }, ownerId, { withdrawalFeeCents: done + 1 });
}

/** Each row once, as it came first. */
const firsts = (rows: readonly Sent[]): Sent[] =>
  rows.filter(({ id }, index) => rows.findIndex((one) => one.id === id) === index);

/** Everything that the cell has, chain by chain. */
async function logOf(cell: Runtime, ownerId: string | null = null) {
  const rows = [];
  for await (const page of auditPages(cell.sql, ownerId, 500)) rows.push(...page.map(auditLine));
  return rows.sort((one, other) => (one.seq ?? 0) - (other.seq ?? 0));
}

const seqsOf = (rows: readonly Line[], ownerId: string) =>
  rows.filter((row) => row.ownerId === ownerId).map(({ seq }) => seq);
const upTo = (most: number) => Array.from({ length: most }, (_, index) => index + 1);

test('A receiver gets each row of every account as the export writes it, in the order of its chain, and none twice while it answers', async () => {
  const receiver = await openReceiver();
  const [one, other] = [await service.newMerchant(), await service.newMerchant()];
  const { runtime } = service;
  await Promise.all([act(runtime, one.ownerId, 130), act(runtime, other.ownerId, 7)]);
  const forward = forwardOf(runtime, receiver, { authorization: 'Bearer of the receiver' });
  expect(await runOut(forward)).toEqual([]);

  const sent = receiver.taken.flat();
  expect(sent.length).toBe(new Set(sent.map(({ id }) => id)).size);
  for (const { ownerId } of [one, other]) {
    const rows = await logOf(runtime, ownerId);
    expect(seqsOf(sent, ownerId)).toEqual(upTo(rows.length));
    const lines = sent.filter((row) => row.ownerId === ownerId);
    expect(lines.map(({ attributes: _, times: __, ...line }) => line)).toEqual(rows);
  }
  const [row] = sent.filter(({ ownerId }) => ownerId === other.ownerId);
  const [stored] = await logOf(runtime, other.ownerId);
  expect(row?.attributes).toEqual({
    ...{
      'log.record.uid': stored?.id,
      'vintem.audit.actor': 'tester',
      'vintem.audit.account': other.ownerId,
    },
    ...{
      'vintem.audit.action': stored?.action,
      'vintem.audit.subject': other.ownerId,
      'vintem.audit.seq': '1',
    },
    ...{ 'vintem.audit.cell': runtime.cell, 'vintem.audit.hash': stored?.hash },
  });
  expect(row?.times).toEqual([stored?.at, stored?.chainedAt].map((at) => `${Date.parse(at ?? '')}000000`));
  expect(receiver.headers[0]).toMatchObject({
    authorization: 'Bearer of the receiver',
    'content-type': 'application/json',
  });
  expect(Math.max(...receiver.taken.map((rows) => rows.length))).toBe(100);
  await act(runtime, one.ownerId, 1);
  await runOut(forward);
  expect(
    receiver.taken
      .flat()
      .slice(sent.length)
      .map(({ seq }) => seq),
  ).toEqual([131]);
});

test('A receiver that dies in the middle gets the rest when it is back, from a process that remembers nothing, and no act waits for it', async () => {
  const receiver = await openReceiver();
  const { ownerId } = await service.newMerchant();
  const { runtime } = service;
  await act(runtime, ownerId, 250);
  // It reads the second batch and dies.
  receiver.fate = () => (receiver.heard.length === 2 ? 'die' : 'take');
  const first = forwardOf(runtime, receiver);
  expect(await first.step()).toBe(true);
  await expect(first.step()).rejects.toThrow();
  expect(seqsOf(receiver.taken.flat(), ownerId)).toEqual(upTo(100));

  receiver.fate = () => 'die';
  const forward = forwardOf(runtime, receiver);
  const failing = forward.step().catch((error: Error) => error);
  await act(runtime, ownerId, 3);
  expect(await failing).toBeInstanceOf(Error);

  receiver.fate = () => 'take';
  const before = receiver.heard.length;
  expect(await runOut(forwardOf(runtime, receiver))).toEqual([]);
  expect(seqsOf(receiver.taken.flat(), ownerId)).toEqual(upTo(253));
  // It was not begun anew.
  expect(receiver.heard[before]?.[0]?.seq).toBe(101);
});

test('A row that the receiver refuses is not left out: those before it get through, and those behind it wait', async () => {
  const { ownerId } = await service.newMerchant();
  const { runtime } = service;
  await act(runtime, ownerId, 12);
  for (const refusal of [
    { status: 400 },
    { status: 200, body: { partialSuccess: { rejectedLogRecords: '1', errorMessage: 'no' } } },
  ]) {
    const receiver = await openReceiver();
    receiver.fate = (rows) => (rows.some(({ seq }) => seq === 5) ? refusal : 'take');
    await runtime.sql.run(
      {
        name: 'test_forget',
        text: 'UPDATE audit_chain SET forwarded_seq = 0 WHERE account_id = $1',
      },
      [ownerId],
    );
    const forward = forwardOf(runtime, receiver);
    for (let turn = 0; turn < 8; turn++) await forward.step().catch(() => undefined);
    expect(seqsOf(receiver.taken.flat(), ownerId)).toEqual([1, 2, 3, 4]);
    receiver.fate = () => 'take';
    await runOut(forward);
    expect(seqsOf(receiver.taken.flat(), ownerId)).toEqual(upTo(12));
  }
});

test('A receiver that asks for a pause gets it, five minutes at most', async () => {
  const receiver = await openReceiver();
  receiver.fate = () => ({ status: 503, headers: { 'retry-after': '86400' } });
  const { ownerId } = await service.newMerchant();
  await act(service.runtime, ownerId, 1);
  let nowMs = 0;
  const clock = { ...service.runtime.clock, monotonicMs: () => nowMs };
  const { step } = createAuditForward({
    ...{ ...service.runtime, clock },
    auditForward: { url: receiver.url, headers: {} },
  });
  await expect(step()).rejects.toThrow('the receiver of the audit log answered 503');
  nowMs = 299_999;
  expect(await step()).toBe(false);
  expect(receiver.heard.length).toBe(1);
  receiver.fate = () => 'take';
  nowMs = 300_001;
  await runOut({ step });
  expect(seqsOf(receiver.taken.flat(), ownerId)).toEqual([1]);
});

test('A worker sends the log of every cell, and what concerns all accounts', async () => {
  const receiver = await openReceiver();
  const running = await openService({
    env: { AUDIT_FORWARD_URL: receiver.url, AUDIT_FORWARD_HEADERS: 'X-Scope-OrgID=a%20bank' },
  });
  try {
    await addCells(running, 1);
    const cells = running.runtime.cells.all();
    const merchants = await Promise.all(cells.map((cell) => running.newMerchant(cell)));
    for (const [index, { ownerId }] of merchants.entries()) await act(cells[index] as Runtime, ownerId, 3);
    await pauseWithdrawals({ ...running.runtime, actor: 'tester' }, 'the provider is looked at');
    const wanted = (await Promise.all(cells.map((cell) => logOf(cell)))).flat();
    expect(new Set(wanted.map(({ ownerId }) => ownerId))).toEqual(
      new Set([installationId, ...merchants.map(({ ownerId }) => ownerId)]),
    );
    await until(async () => firsts(receiver.taken.flat()).length === wanted.length);
    for (const { ownerId } of merchants)
      expect(seqsOf(firsts(receiver.taken.flat()), ownerId)).toEqual([1, 2, 3]);
    expect(receiver.headers[0]).toMatchObject({ 'x-scope-orgid': 'a bank' });
  } finally {
    await running.close();
  }
});
