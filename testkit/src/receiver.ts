import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { systemClock } from '../../server/src/ports/clock.ts';
import { until } from './service.ts';

/** A merchant's server. */
export interface Receiver {
  url: string;
  /** Everything that arrived, in order. */
  got: Received[];
  /** From now on. */
  answer(how: Answering): void;
  /** Resolves with the first delivery that fits, arrived or yet to come. */
  first(fits: (received: Received) => boolean, withinMs?: number): Promise<Received>;
  types(): string[];
  stop(): Promise<void>;
}

export interface Received {
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
  body: any;
  /** Monotonic. */
  atMs: number;
  path: string;
}

export type Answering = number | ((response: ServerResponse, received: Received) => void);

export async function openReceiver(port = 0): Promise<Receiver> {
  const got: Received[] = [];
  let how: Answering = 200;
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const received: Received = {
        headers: request.headers,
        text,
        body: JSON.parse(text),
        atMs: systemClock.monotonicMs(),
        path: request.url ?? '',
      };
      got.push(received);
      if (typeof how === 'number') response.writeHead(how).end('noted');
      else how(response, received);
    });
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return {
    url,
    got,
    answer: (given) => {
      how = given;
    },
    first: async (fits, withinMs) => {
      await until(async () => got.some(fits), withinMs);
      return got.find(fits) as Received;
    },
    types: () => got.map(({ body }) => body.type),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** The first step of a merchant's code. @throws when the signature does not fit */
export const verified = (secret: string, { text, headers }: Received): unknown =>
  new Webhook(secret).verify(text, headers as Record<string, string>);
