import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Inbound } from '../flow/inbound.ts';
import type { Questions } from '../flow/withdrawal-questions.ts';
import { refuse } from '../ground/errors.ts';

/** How a proxy says that it has verified the provider's certificate. */
export interface CertificateRules {
  /** The host of deliveries alone (`HOOKS_URL`), with its port where it has one; null: they share that of everything else. */
  host: string | null;
  /** In lower case. */
  header: string;
}

export const certificateRulesOf = (config: {
  publicUrl: string;
  hooksUrl?: string;
  hooksHeader?: string;
}): CertificateRules => {
  const { hooksUrl = config.publicUrl, hooksHeader = 'x-ssl-client-verify' } = config;
  return { host: hooksUrl === config.publicUrl ? null : new URL(hooksUrl).host, header: hooksHeader };
};

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes of a delivery that count until it is answered. */
    heldBytes: number;
  }
}

const maxDeliveryBytes = 1024 * 1024;
/** Of all deliveries that are being read or stored at once in a process. Beyond it the provider gets 503 and sends again. */
const maxBytesAtOnce = 32 * 1024 * 1024;
/** The least that a delivery counts for, so that their number is bounded too. */
const leastBytes = 4 * 1024;

/**
 * Where providers deliver. API Pix appends `/pix` to the address that it was given. The body is not parsed: a signature is over its bytes,
 * and they are stored before anything else.
 *
 * The secret in the address is checked before a byte of the body is read, and only bytes that arrived count against the budget. With
 * `Content-Length` counted instead, 33 strangers who announced 1 MiB and sent nothing kept every provider out.
 */
export function hookRoutes(
  app: FastifyInstance,
  deliveries: Pick<Inbound, 'isOurAddress' | 'receive'>,
  questions: Questions,
  certificates: CertificateRules,
): void {
  app.register(
    async (hooks) => {
      let bytesAtOnce = 0;
      hooks.decorateRequest('heldBytes', 0);
      const hold = (request: FastifyRequest, bytes: number): void => {
        if (bytesAtOnce + bytes > maxBytesAtOnce) throw refuse('overloaded', { retryAfterSeconds: 1 });
        bytesAtOnce += bytes;
        request.heldBytes += bytes;
      };
      hooks.addHook('onRequest', async (request, reply) => {
        const { connection, token } = request.params as { connection: string; token?: string };
        const isOurs =
          token === undefined
            ? questions.isAuthentic(connection, request.headers)
            : await deliveries.isOurAddress(connection, token);
        if (!isOurs) {
          // Nothing of the body is read: the connection cannot be used again.
          return reply.header('connection', 'close').code(404).send();
        }
        request.waitsAs = null;
        if (Number(request.headers['content-length'] ?? 0) > maxDeliveryBytes) throw refuse('body_too_large');
        hold(request, leastBytes);
        reply.raw.once('close', () => {
          bytesAtOnce -= request.heldBytes;
        });
      });
      hooks.removeAllContentTypeParsers();
      hooks.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        // A refusal in the middle must still be answered, so it must not destroy the connection.
        for await (const part of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
          bytes += part.length;
          if (bytes > maxDeliveryBytes) throw refuse('body_too_large');
          hold(request, Math.max(bytes - request.heldBytes, 0));
          parts.push(part);
        }
        return Buffer.concat(parts);
      });
      // A question is answered from the books, under a token in its headers: a person enters its address in the provider's panel.
      hooks.post<{ Params: { connection: string }; Body: Buffer | undefined }>(
        '/:connection/withdrawals',
        { bodyLimit: maxDeliveryBytes },
        async ({ params, body }, reply) =>
          reply.send(await questions.answer(params.connection, body ?? Buffer.alloc(0))),
      );
      for (const path of ['/:connection/:token', '/:connection/:token/pix']) {
        hooks.post<{ Params: { connection: string }; Body: Buffer | undefined }>(
          path,
          { bodyLimit: maxDeliveryBytes },
          async (request, reply) => {
            const { status } = await deliveries.receive({
              connection: request.params.connection,
              headers: request.headers,
              rawBody: request.body ?? Buffer.alloc(0),
              clientVerified: isVerified(request, certificates),
            });
            return reply.code(status).send();
          },
        );
      }
    },
    { prefix: '/hooks/providers' },
  );
}

/**
 * The value of nginx's `$ssl_client_verify`, under the name that most examples give it. It counts from a trusted proxy only: Fastify then
 * lists the forwarded address behind the peer's own. Anyone else can send the header as well, and through a host on which the proxy asks
 * for no certificate it would pass a trusted proxy: with a host of their own, deliveries count there alone. The host is the one that the
 * proxy chose its rules by, not a forwarded one.
 */
const isVerified = ({ ips, headers }: FastifyRequest, { host, header }: CertificateRules): boolean =>
  (ips?.length ?? 0) > 1 && headers[header] === 'SUCCESS' && (host === null || headers.host === host);
