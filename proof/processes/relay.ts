import { connect, createServer, type Socket } from 'node:net';

/** One address of a database whose server changes or cannot be reached for a while, as a proxy before it would be. */
export interface Relay {
  port: number;
  /** The earlier connections end; those from now on go to `port`. */
  switchTo(port: number): void;
  /** The connections end, and new ones are closed at once, until `switchTo`. */
  cut(): void;
  close(): void;
}

export async function openRelay(target: number, host = '127.0.0.1'): Promise<Relay> {
  let to: number | null = target;
  const sockets = new Set<Socket>();
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((inside) => {
    if (to === null) {
      inside.destroy();
      return;
    }
    const outside = connect(to, host);
    for (const [one, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    inside.pipe(outside).pipe(inside);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as { port: number }).port,
    switchTo(port) {
      to = port;
      end();
    },
    cut() {
      to = null;
      end();
    },
    close() {
      server.close();
      end();
    },
  };
}
