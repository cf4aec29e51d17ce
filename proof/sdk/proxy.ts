import { connect, createServer, type Socket } from 'node:net';
import type { Random } from '../simulation/random.ts';

/**
 * A proxy between client and service that looks at bytes: it drops, delays, doubles and cuts requests and answers. Cuts go
 * through every byte: before the first one, in the headers, in the body, before the last one.
 */
export const faults = [
  'drop-request',
  'cut-request',
  'delay-request',
  'double-request',
  'late-copy',
  'drop-answer',
  'cut-answer',
  'delay-answer',
  'double-answer',
] as const;
export type Fault = (typeof faults)[number];

/** Cuts are drawn more often: there are as many of them as bytes. */
const drawn: readonly Fault[] = [...faults, 'cut-request', 'cut-answer', 'cut-answer'];

export interface FaultyProxy {
  url: string;
  counts: Record<Fault | 'none', number>;
  /** Where requests and answers were cut. */
  cutAt: { requests: Set<number>; answers: Set<number> };
  /** The longest that were seen, in bytes. */
  longest: { request: number; answer: number };
  /** Resolves when no delayed request or copy is on its way any more. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export interface ProxyOptions {
  /** Where the service listens. */
  target: string;
  random: Random;
  /** Of a request, 0 to 1. */
  faultChance: number;
  /** The longest delay, in milliseconds: beyond the client's time limit, so that it gives up meanwhile. */
  delayMs: number;
  /** Every request that arrives, before anything is done with it. */
  seen(request: string): void;
}

export async function openProxy(options: ProxyOptions): Promise<FaultyProxy> {
  const { random, delayMs } = options;
  const { hostname, port } = new URL(options.target);
  const counts = Object.fromEntries(['none', ...faults].map((fault) => [fault, 0])) as FaultyProxy['counts'];
  const cutAt = { requests: new Set<number>(), answers: new Set<number>() };
  const longest = { request: 0, answer: 0 };
  const turns = { requests: 0, answers: 0 };
  const sockets = new Set<Socket>();
  const late = new Set<Promise<unknown>>();

  const server = createServer((client) => {
    track(client);
    let unread = Buffer.alloc(0);
    let working = Promise.resolve();
    client.on('data', (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      for (
        let length = lengthOf(unread);
        length !== null && length <= unread.length;
        length = lengthOf(unread)
      ) {
        const request = unread.subarray(0, length);
        unread = unread.subarray(length);
        working = working.then(() => pass(client, request));
      }
    });
  });

  async function pass(client: Socket, request: Buffer): Promise<void> {
    options.seen(request.toString());
    longest.request = Math.max(longest.request, request.length);
    const fault = random.chance(options.faultChance) ? random.pick(drawn) : 'none';
    counts[fault]++;
    const waitMs = random.below(delayMs);
    if (fault === 'drop-request') return void client.destroy();
    if (fault === 'cut-request') {
      const at = placeOf(cutAt.requests, turns.requests++, request.length);
      cutAt.requests.add(at);
      await exchange(request.subarray(0, at), true);
      return void client.destroy();
    }
    if (fault === 'delay-request') await lasts(pause(waitMs));
    if (fault === 'late-copy') void lasts(pause(waitMs).then(() => exchange(request)));
    const answers = [lasts(exchange(request))];
    if (fault === 'double-request') answers.push(lasts(exchange(request)));
    const answer = await Promise.race(answers);
    longest.answer = Math.max(longest.answer, answer.length);
    if (fault === 'drop-answer') return void client.destroy();
    if (fault === 'delay-answer') await pause(waitMs);
    if (client.destroyed || answer.length === 0) return void client.destroy();
    if (fault === 'cut-answer') {
      const at = placeOf(cutAt.answers, turns.answers++, answer.length);
      cutAt.answers.add(at);
      client.write(answer.subarray(0, at), () => client.destroy());
    } else if (fault === 'double-answer') client.end(Buffer.concat([answer, answer]));
    else client.write(answer);
  }

  /** Sends bytes on a connection of their own; resolves with the answer, or with what came of it. */
  function exchange(bytes: Buffer, cut = false): Promise<Buffer> {
    return new Promise((resolve) => {
      const upstream = connect(Number(port), hostname);
      track(upstream);
      let answer = Buffer.alloc(0);
      upstream.on('data', (chunk: Buffer) => {
        answer = Buffer.concat([answer, chunk]);
        const length = lengthOf(answer);
        if (length !== null && answer.length >= length) upstream.destroy();
      });
      upstream.on('close', () => resolve(answer));
      upstream.write(bytes, () => {
        if (cut) upstream.destroy();
      });
    });
  }

  function track(socket: Socket): void {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  }

  function lasts<Result>(work: Promise<Result>): Promise<Result> {
    late.add(work);
    void work.finally(() => late.delete(work));
    return work;
  }

  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    counts,
    cutAt,
    longest,
    settled: async () => {
      while (late.size > 0) await Promise.all(late);
    },
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Of the message that the bytes begin with, or null while its headers are not all there. Both sides send lengths. */
function lengthOf(bytes: Buffer): number | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const header = /^content-length: *(\d+)/im.exec(bytes.toString('latin1', 0, end));
  return end + 4 + Number(header?.[1] ?? 0);
}

/**
 * Far apart from one cut to the next, so that a few already fall on headers and body; then on to the next byte that was not cut yet.
 */
function placeOf(cut: ReadonlySet<number>, turn: number, length: number): number {
  const from = (turn * 331) % length;
  for (let step = 0; step < length; step++) {
    const at = (from + step) % length;
    if (!cut.has(at)) return at;
  }
  return from;
}

const pause = (ms: number): Promise<void> => new Promise((later) => setTimeout(later, ms));
