import type { FastifyInstance } from 'fastify';
import { refuse } from './errors.ts';

/** A provider's delivery, as it came. */
export interface HookDelivery {
  connection: string;
  /** The secret part of the address. */
  token: string;
  headers: Record<string, string | string[] | undefined>;
  rawBody: Buffer;
}

export type ReceiveWebhook = (delivery: HookDelivery) => Promise<{ status: number }>;

const maxDeliveryBytes = 1024 * 1024;
/** Of all deliveries that are being read or stored at once in a process. Beyond it a provider is asked to come again, which it does. */
const maxBytesAtOnce = 32 * 1024 * 1024;
/** What a delivery counts for at least, so that their number is bounded too. */
const leastBytes = 4 * 1024;

/**
 * Where providers deliver. API Pix appends `/pix` to the address that it was given. The bytes go on unread: a signature is over
 * them, and they are stored before anything is made of them.
 */
export function hookRoutes(app: FastifyInstance, receive: ReceiveWebhook): void {
  app.register(
    async (hooks) => {
      let bytesAtOnce = 0;
      // Before the body is read: whoever floods the address has not shown yet that it is his.
      hooks.addHook('onRequest', (request, reply, next) => {
        const told = Number(request.headers['content-length'] ?? maxDeliveryBytes);
        const bytes = Math.min(Math.max(told, leastBytes) || maxDeliveryBytes, maxDeliveryBytes);
        if (bytesAtOnce + bytes > maxBytesAtOnce) return next(refuse('overloaded', { retryAfterSeconds: 1 }));
        bytesAtOnce += bytes;
        reply.raw.once('close', () => {
          bytesAtOnce -= bytes;
        });
        next();
      });
      hooks.removeAllContentTypeParsers();
      hooks.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
      for (const path of ['/:connection/:token', '/:connection/:token/pix']) {
        hooks.post<{ Params: { connection: string; token: string }; Body: Buffer | undefined }>(
          path,
          { bodyLimit: maxDeliveryBytes },
          async (request, reply) => {
            const { status } = await receive({
              connection: request.params.connection,
              token: request.params.token,
              headers: request.headers,
              rawBody: request.body ?? Buffer.alloc(0),
            });
            return reply.code(status).send();
          },
        );
      }
    },
    { prefix: '/hooks/providers' },
  );
}
