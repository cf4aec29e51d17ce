import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { openPool } from '../../src/store/database/pool.ts';
import { certificate, passphrase, pfx } from '../program/certificate.ts';

/** The receiver of the service's login: a server that speaks TLS, up to the first message that names a login. */

let server: Server;
let folder: string;
let named: string[] = [];
beforeAll(async () => {
  const secureContext = createSecureContext({ pfx, passphrase });
  server = createServer((socket) => {
    socket.on('error', () => {});
    // SSLRequest, which the server grants with one letter.
    socket.once('data', () => {
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, secureContext });
      secure.on('error', () => {});
      secure.once('data', (startup) => {
        named.push(startup.toString('latin1'));
        secure.destroy();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(tmpdir(), 'vintem-certificate-'));
  await writeFile(join(folder, 'authority.pem'), certificate);
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

/** Why there is no connection. */
async function connect(more: string): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const url = `postgres://service:a@127.0.0.1:${port}/vintem?sslmode=verify-full${more}`;
  const pool = openPool({ url, log: createLog('silent'), name: 'vintem test', size: 1 });
  named = [];
  const error = await pool.run({ name: 'test', text: 'SELECT 1' }).catch((reason: Error) => reason);
  await pool.close();
  return String(((error as Error).cause as Error | undefined)?.message);
}

test('a PostgreSQL whose certificate no authority vouches for gets no login', async () => {
  expect(await connect('')).toContain('self-signed certificate');
  expect(named).toEqual([]);
});

test('sslrootcert names the one authority that is trusted', async () => {
  await connect(`&sslrootcert=${encodeURIComponent(join(folder, 'authority.pem'))}`);
  expect(named).toEqual([expect.stringContaining('service')]);
});
