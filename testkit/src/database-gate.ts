import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP gate in front of PostgreSQL: what a service sees when the server behind it is stopped, starting or silent. */
export interface DatabaseGate {
  /** The given URL, through the gate. */
  url: string;
  open(): Promise<void>;
  /** Connections are cut and new ones refused by the system. */
  stopped(): Promise<void>;
  /** New connections get the error of a server that is starting up. */
  starting(): Promise<void>;
  /** Everything is accepted and nothing answered. */
  silent(): Promise<void>;
  close(): Promise<void>;
}

export async function openGate(databaseUrl: string): Promise<DatabaseGate> {
  const behind = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let state: 'open' | 'starting' | 'silent' = 'open';
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  };
  const accept = (client: Socket) => {
    keep(client);
    if (state === 'starting') return void client.once('data', () => client.end(startingUp()));
    const server = connect(Number(behind.port), behind.hostname);
    keep(server);
    client.on('data', (bytes) => state !== 'silent' && server.write(bytes));
    server.on('data', (bytes) => state !== 'silent' && client.write(bytes));
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
  };
  let listener: Server = createServer(accept);
  await listening(listener, 0);
  const { port } = listener.address() as AddressInfo;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const listens = async () => {
    if (listener.listening) return;
    listener = createServer(accept);
    await listening(listener, port);
  };
  const become = async (next: typeof state) => {
    state = next;
    // Messages of the silent time are lost: such connections are of no use.
    if (next !== 'silent') cut();
    await listens();
  };
  const stop = async () => {
    const closed = new Promise((resolve) => listener.close(resolve));
    cut();
    await closed;
  };
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = `${port}`;
  return {
    url: url.toString(),
    open: () => become('open'),
    stopped: stop,
    starting: () => become('starting'),
    silent: () => become('silent'),
    close: stop,
  };
}

const listening = (server: Server, port: number): Promise<void> =>
  new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));

/** PostgreSQL's protocol 3, ErrorResponse: fields of one letter and a text that ends with a zero byte. */
function startingUp(): Buffer {
  const fields = ['SFATAL', 'VFATAL', 'C57P03', 'Mthe database system is starting up', ''];
  const body = Buffer.from(fields.map((field) => `${field}\0`).join(''));
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
