import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@vintem/testkit/free-port.ts';
import { openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setConditions } from '../../server/src/operate/accounts/conditions.ts';
import { createAuditForward } from '../../server/src/operate/audit/forward.ts';
import { auditLine } from '../../server/src/operate/audit/line.ts';
import { auditPages } from '../../server/src/operate/find.sql.ts';

/**
 * The OpenTelemetry Collector reads what the audit log is sent as, and ends and comes back meanwhile. It comes from its own releases: `COLLECTOR`
 * names the program of one with the receiver `otlp` and the exporter `file`, as `otelcol-contrib` is.
 */

const program = process.env.COLLECTOR ?? '';
let service: Service;
let folder: string;
let running: ChildProcess | null = null;
beforeAll(async () => {
  [service, folder] = await Promise.all([
    openService({ worker: false }),
    mkdtemp(join(tmpdir(), 'vintem-collector-')),
  ]);
});
afterAll(async () => {
  running?.kill('SIGKILL');
  await service?.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(port: number): Promise<void> {
  const settings = join(folder, 'collector.yaml');
  const text = `receivers: {otlp: {protocols: {http: {endpoint: '127.0.0.1:${port}'}}}}
exporters: {file: {path: '${join(folder, 'taken.jsonl')}', append: true}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [file]}}
`;
  await writeFile(settings, text);
  running = spawn(program, ['--config', `file:${settings}`], { stdio: 'ignore' });
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/v1/logs`, { method: 'POST' }).then(
      () => true,
      () => false,
    );
  await until(answers);
}

async function end(): Promise<void> {
  const ending = running as ChildProcess;
  ending.kill('SIGTERM');
  await once(ending, 'exit');
}

interface Taken {
  timeUnixNano: string;
  eventName: string;
  body: { stringValue: string };
  attributes: { key: string; value: Record<string, string> }[];
}

async function taken(): Promise<Taken[]> {
  const lines = (await readFile(join(folder, 'taken.jsonl'), 'utf8')).trim().split('\n');
  return lines
    .flatMap((line) => JSON.parse(line).resourceLogs)
    .flatMap(({ scopeLogs }) => scopeLogs)
    .flatMap(({ logRecords }) => logRecords);
}

test.runIf(program !== '')(
  'The collector takes the audit log whole and in order, and what came while it was down',
  async () => {
    const { runtime } = service;
    const { ownerId } = await service.newMerchant();
    const act = async (times: number) => {
      for (let done = 0; done < times; done++)
        await setConditions({ ...runtime, actor: 'João, do risco' }, ownerId, { withdrawalFeeCents: done });
    };
    const port = await freePort();
    const forward = createAuditForward({
      ...runtime,
      auditForward: { url: `http://127.0.0.1:${port}/v1/logs`, headers: {} },
    });
    await start(port);
    await act(150);
    expect(await forward.step()).toBe(true);
    await end();
    await act(20);
    await expect(forward.step()).rejects.toThrow();
    await start(port);
    while (await forward.step());
    await end();

    const stored = [];
    for await (const page of auditPages(runtime.sql, ownerId, 500)) stored.push(...page.map(auditLine));
    stored.sort((one, other) => (one.seq ?? 0) - (other.seq ?? 0));
    const records = await taken();
    expect(records.map(({ body }) => JSON.parse(body.stringValue))).toEqual(stored);
    expect(records.length).toBe(170);
    const [first] = records;
    expect(first?.eventName).toBe('vintem.audit');
    expect(first?.timeUnixNano).toBe(`${Date.parse(stored[0]?.at ?? '')}000000`);
    expect(first?.attributes).toContainEqual({ key: 'vintem.audit.seq', value: { intValue: '1' } });
    expect(first?.attributes).toContainEqual({
      key: 'vintem.audit.actor',
      value: { stringValue: 'João, do risco' },
    });
  },
);
