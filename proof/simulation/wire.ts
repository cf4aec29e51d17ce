import type { PGlite } from '@electric-sql/pglite';

/**
 * PostgreSQL's protocol, as much of it as a client of one session needs, in one synchronous call per statement: prepared
 * once, then bound and executed. PGlite's own `query` takes six calls and a turn of the event loop for each; this is
 * five times as fast, and nothing in it can be interleaved by chance.
 */
export interface Session {
  /** @throws DatabaseError with PostgreSQL's own code */
  run<Row>(text: string, values: readonly unknown[]): Row[];
  /** Several statements, without parameters. */
  exec(text: string): void;
}

export class DatabaseError extends Error {
  override name = 'DatabaseError';
  readonly code: string;
  readonly constraint: string | undefined;
  constructor(message: string, code: string, constraint?: string) {
    super(message);
    this.code = code;
    this.constraint = constraint;
  }
}

type Parse = (text: string) => unknown;

interface Prepared {
  name: string;
  /** Types of its parameters. */
  parameters: number[];
  columns: { name: string; parse: Parse }[];
}

/** @param prefix of the names of its prepared statements, which all sessions on one database share */
export function openSession(pg: PGlite, parserOf: (oid: number) => Parse, prefix = 's'): Session {
  const known = new Map<string, Prepared>();
  // The call that streams works at once as well, and is the one that does not read every answer itself besides.
  const call = (message: Buffer): Buffer => {
    const answer: Buffer[] = [];
    const done = pg.execProtocolRawStream(message, {
      syncToFs: false,
      onRawData: (bytes) => void answer.push(Buffer.from(bytes)),
    });
    done.catch(() => {});
    return answer.length === 1 ? (answer[0] as Buffer) : Buffer.concat(answer);
  };

  function prepare(text: string): Prepared {
    const found = known.get(text);
    if (found) return found;
    const name = `${prefix}${known.size}`;
    const parse = message('P', [cstring(name), cstring(text), int16(0)]);
    const describe = message('D', [Buffer.from('S'), cstring(name)]);
    const prepared: Prepared = { name, parameters: [], columns: [] };
    each(call(Buffer.concat([parse, describe, sync])), (type, body) => {
      if (type === 't')
        for (let at = 2; at < body.length; at += 4) prepared.parameters.push(body.readInt32BE(at));
      if (type === 'T') prepared.columns = columnsOf(body, parserOf);
    });
    known.set(text, prepared);
    return prepared;
  }

  return {
    run: <Row>(text: string, values: readonly unknown[]): Row[] => {
      const { name, columns, parameters: types } = prepare(text);
      const parameters: Buffer[] = [];
      for (const [at, value] of values.entries()) {
        const given = textOf(types[at] === timestamptzArray ? (value as unknown[]).map(instant) : value);
        if (given === null) parameters.push(int32(-1));
        else {
          const bytes = Buffer.from(given);
          parameters.push(int32(bytes.length), bytes);
        }
      }
      const bind = message('B', [
        cstring(''),
        cstring(name),
        int16(0),
        int16(values.length),
        ...parameters,
        int16(0),
      ]);
      const rows: Row[] = [];
      each(call(Buffer.concat([bind, execute, sync])), (type, body) => {
        if (type === 'D') rows.push(rowOf<Row>(body, columns));
      });
      return rows;
    },
    exec: (text) => {
      each(call(message('Q', [cstring(text)])), () => {});
    },
  };
}

function message(type: string, parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 4);
  return Buffer.concat([Buffer.from(type), int32(length), ...parts]);
}

const int16 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const cstring = (text: string): Buffer => Buffer.from(`${text}\0`);
const sync = message('S', []);
const execute = message('E', [cstring(''), int32(0)]);

/** Every message of an answer; the first error is thrown when all were seen. */
function each(answer: Buffer, visit: (type: string, body: Buffer) => void): void {
  let failure: DatabaseError | null = null;
  for (let at = 0; at < answer.length; ) {
    const type = String.fromCharCode(answer[at] as number);
    const length = answer.readInt32BE(at + 1);
    const body = answer.subarray(at + 5, at + 1 + length);
    if (type === 'E') failure ??= errorOf(body);
    else visit(type, body);
    at += 1 + length;
  }
  if (failure) throw failure;
}

function errorOf(body: Buffer): DatabaseError {
  const fields = new Map<string, string>();
  for (let at = 0; at < body.length && body[at] !== 0; ) {
    const end = body.indexOf(0, at + 1);
    fields.set(String.fromCharCode(body[at] as number), body.toString('utf8', at + 1, end));
    at = end + 1;
  }
  return new DatabaseError(fields.get('M') ?? '', fields.get('C') ?? '', fields.get('n'));
}

function columnsOf(body: Buffer, parserOf: (oid: number) => Parse): Prepared['columns'] {
  const columns: Prepared['columns'] = [];
  const count = body.readInt16BE(0);
  for (let column = 0, at = 2; column < count; column++) {
    const end = body.indexOf(0, at);
    columns.push({ name: body.toString('utf8', at, end), parse: parserOf(body.readInt32BE(end + 7)) });
    at = end + 19;
  }
  return columns;
}

function rowOf<Row>(body: Buffer, columns: Prepared['columns']): Row {
  const row: Record<string, unknown> = {};
  let at = 2;
  for (const { name, parse } of columns) {
    const length = body.readInt32BE(at);
    at += 4;
    if (length === -1) row[name] = null;
    else {
      row[name] = parse(body.toString('utf8', at, at + length));
      at += length;
    }
  }
  return row as Row;
}

const timestamptzArray = 1185;

/** In arrays instants come as milliseconds. */
const instant = (value: unknown): unknown =>
  typeof value === 'number' ? new Date(value).toISOString() : value;

/** A parameter as PostgreSQL reads it; null is null. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`;
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}

function elementOf(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return textOf(value) ?? 'NULL';
  const text = textOf(value) ?? '';
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
