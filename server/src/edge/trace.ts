import type { IncomingHttpHeaders } from 'node:http';

/** The caller's own id of its request, to find it again. Never ours: our id is made here. */
export interface ClientTrace {
  /** Its own `X-Request-Id`: up to 128 of letters, digits, `.`, `_` and `-`. */
  clientRequestId?: string;
  /** W3C Trace Context, version 00, as it came. */
  traceparent?: string;
}

const nothing: ClientTrace = {};

/** A value that does not fit is left out, not refused: it is a help for people, and nothing depends on it. */
export function clientTraceOf(headers: IncomingHttpHeaders): ClientTrace {
  const { traceparent, 'x-request-id': id } = headers;
  if (traceparent === undefined && id === undefined) return nothing;
  return {
    ...(typeof id === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(id) ? { clientRequestId: id } : {}),
    ...(typeof traceparent === 'string' && isTraceparent(traceparent) ? { traceparent } : {}),
  };
}

/** Version, trace, parent, flags; a trace or parent of zeros names nothing (Trace Context, 3.2.2). */
const isTraceparent = (text: string): boolean =>
  /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(text);
