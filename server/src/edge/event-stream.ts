/** Headers of a stream of server-sent events, beside its type. */
export const eventStreamHeaders = {
  // Proxies that collect answers would keep events back.
  'x-accel-buffering': 'no',
  // A reader who may see nothing more loses the connection with the stream. A client that kept it for its next request would lose that request.
  connection: 'close',
} as const;
