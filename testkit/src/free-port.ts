import { connect, createServer } from 'node:net';

/**
 * Ports below those that systems give to connections and to servers that take any port (from 32768 on Linux, from 49152 elsewhere): what is
 * free now is still free when a program takes it in a moment. Each process begins at another one. They lie above 10080, the highest port that
 * `fetch` refuses to call (https://fetch.spec.whatwg.org/#port-blocking).
 */
const [lowest, count] = [10_100, 20_000];
let next = Math.floor(Math.random() * count);

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < count; tries++) {
    const port = lowest + (next++ % count);
    if (await isFree(port)) return port;
  }
  throw new Error('no port is free');
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** Whether a program on this machine accepts connections at the port. */
export const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
