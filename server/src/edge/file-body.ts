import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { refuse } from '../ground/errors.ts';

/** Of all files that are read or stored at once in a process. Beyond it a caller gets 503 and sends again. */
const maxBytesAtOnce = 40 * 1024 * 1024;

/**
 * Reads the bytes of a file for the routes that name the types they take (`consumes`); every other type of body is refused. Only bytes that
 * arrived count against the budget, until the answer is sent. The key or the session was checked before. A file is at most as large as its
 * route's `bodyLimit`.
 */
export function takeFiles(app: FastifyInstance): void {
  let bytesAtOnce = 0;
  const held = new WeakMap<FastifyRequest, number>();
  const hold = (request: FastifyRequest, bytes: number): void => {
    bytesAtOnce += bytes;
    held.set(request, (held.get(request) ?? 0) + bytes);
  };
  app.addHook('onRoute', (route) => {
    if (route.config?.api?.consumes === undefined) return;
    route.preParsing = (request, reply, payload, done) => {
      reply.raw.once('close', () => hold(request, -(held.get(request) ?? 0)));
      done(null, payload);
    };
  });
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => {
    const { config, bodyLimit } = request.routeOptions;
    if (!config.api?.consumes?.includes(mediaTypeOf(request))) throw refuse('unsupported_media_type');
    if (Number(request.headers['content-length'] ?? 0) > bodyLimit) throw refuse('body_too_large');
    const parts: Buffer[] = [];
    // A refusal in the middle must still be answered, so it must not destroy the connection.
    for await (const part of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if ((held.get(request) ?? 0) + part.length > bodyLimit) throw refuse('body_too_large');
      if (bytesAtOnce + part.length > maxBytesAtOnce) throw refuse('overloaded', { retryAfterSeconds: 1 });
      hold(request, part.length);
      parts.push(part);
    }
    return Buffer.concat(parts);
  });
}

/** Without its parameters; that of an encoded body is none that is taken. */
export function mediaTypeOf({ headers }: FastifyRequest): string {
  if ((headers['content-encoding'] ?? 'identity').trim().toLowerCase() !== 'identity') return '';
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
