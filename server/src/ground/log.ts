import { type Logger, pino } from 'pino';

export type Log = Logger;

/** Names of fields whose content never reaches a log line, at the top and two levels down. */
const SECRET_FIELDS = [
  'authorization',
  'pixKey',
  'payerName',
  'copyPaste',
  'code',
  'key',
  'password',
  'secret',
];

/** Structured JSON, one object a line, on standard error (standard output belongs to the commands' answers). */
export function createLog(level: string, destination: NodeJS.WritableStream = process.stderr): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      redact: {
        paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[hidden]',
      },
      serializers: { err: describeError },
    },
    destination,
  );
}

/**
 * The fields of an error that a log line shows. Only named ones: PostgreSQL puts the row's content into `detail` and `where`,
 * which may hold names and Pix keys. The SQLSTATE is called `sqlState`, since `code` is a hidden field.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, constraint, table } = error as { code?: unknown; constraint?: unknown; table?: unknown };
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(typeof code === 'string' ? { sqlState: code } : {}),
    ...(typeof table === 'string' ? { table } : {}),
    ...(typeof constraint === 'string' ? { constraint } : {}),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}
