import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator } from '@vintem/simulator';
import { expect } from 'vitest';

/** A call and its answer, as they were on the wire. */
export interface Call {
  method: string;
  path: string;
  body: unknown;
  status: number;
  answer: unknown;
}

export interface Recorder {
  /** Of the server that stands before the simulator and keeps what passes. */
  url: string;
  simulatorUrl: string;
  /** Since the last time that they were forgotten. */
  calls(): readonly Call[];
  forget(): void;
  /** Calls a control route of the simulator. */
  control(path: string, body?: object): Promise<Record<string, string>>;
  stop(): Promise<void>;
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export async function startRecorder(): Promise<Recorder> {
  const stateDir = await mkdtemp(join(tmpdir(), 'vintem-foreign-'));
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, stateDir });
  let calls: Call[] = [];
  const server = createServer((request, answer) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', async () => {
      const body = Buffer.concat(parts);
      const { method = 'GET', url: path = '/', headers } = request;
      const { host: _, connection: _alive, 'content-length': _length, ...passed } = headers;
      const given = await fetch(simulator.url + path, {
        method,
        headers: passed as Record<string, string>,
        ...(body.length === 0 ? {} : { body }),
      });
      const text = await given.text();
      calls.push({ method, path, body: parsed(body.toString()), status: given.status, answer: parsed(text) });
      answer.writeHead(given.status, { 'content-type': given.headers.get('content-type') ?? 'text/plain' });
      answer.end(text);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    simulatorUrl: simulator.url,
    calls: () => calls,
    forget: () => {
      calls = [];
    },
    async control(path, body = {}) {
      const answer = await fetch(simulator.url + path, { method: 'POST', body: JSON.stringify(body) });
      expect(answer.status).toBe(200);
      return (await answer.json()) as Record<string, string>;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await simulator.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
