import { createServer, request } from 'node:http';
import { type AddressInfo, connect as connectTo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * A reverse proxy as the documents ask for one, on a thread of its own: it says where a caller comes from and whether a certificate was
 * examined, and lets no header of a caller say either. For the rig alone, a caller's address is what `x-rig-address` names.
 */
const { target, own } = workerData as { target: string; own: string };
const { hostname, port } = new URL(target);

const server = createServer((incoming, answer) => {
  const headers = { ...incoming.headers };
  const said = headers['x-rig-address'];
  const caller = typeof said === 'string' ? said : (incoming.socket.remoteAddress ?? '');
  delete headers['x-rig-address'];
  headers['x-forwarded-for'] = caller;
  headers['x-forwarded-proto'] = 'https';
  headers['x-ssl-client-verify'] = 'NONE';
  const outgoing = request(
    {
      host: hostname,
      port: Number(port),
      method: incoming.method,
      path: incoming.url,
      headers,
      createConnection: () => connectTo({ host: hostname, port: Number(port), localAddress: own }),
    },
    (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    },
  );
  outgoing.on('error', () => {
    if (!answer.headersSent) answer.writeHead(502);
    answer.end();
  });
  answer.on('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
});
server.listen(0, '127.0.0.1', () =>
  parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
