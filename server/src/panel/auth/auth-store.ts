import { hash } from 'node:crypto';
import { type CleanedWhere, createAdapterFactory } from 'better-auth/adapters';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

/**
 * better-auth's storage over our own port, so that there is one pool, one role and one set of time limits. Its names become
 * snake case; what ends in `At` or `Until` is an instant. Names come from better-auth's schema, never from a request.
 */
const tables: Readonly<Record<string, string>> = {
  user: 'panel_user',
  session: 'panel_session',
  account: 'panel_credential',
  verification: 'panel_verification',
  twoFactor: 'panel_two_factor',
  passkey: 'panel_passkey',
};

type Row = Record<string, unknown>;

export const authStore = (deps: { sql: Sql; clock: Clock; ids: Ids }) =>
  createAdapterFactory({
    config: {
      adapterId: 'vintem',
      supportsDates: true,
      supportsBooleans: true,
      supportsNumericIds: false,
      transaction: false,
      customIdGenerator: () => deps.ids.uuid(),
    },
    adapter: () => {
      const run = (queries: Queries, text: string, values: readonly unknown[]): Promise<Row[]> =>
        queries.run<Row>(statementOf(text), values);
      const write = (text: string, values: readonly unknown[]): Promise<Row[]> =>
        deps.sql.tx((tx) => run(tx, text, values));
      /** The app counts from its first right code on: its time is written with it, so that none is without. */
      const timed = (update: Row): Row =>
        update.verified === true ? { ...update, verifiedAt: new Date(deps.clock.now()) } : update;

      return {
        create: async ({ model, data }) => {
          const fields = Object.keys(data as Row);
          const values = fields.map((field) => stored(model, field, (data as Row)[field]));
          const places = fields.map((_, at) => `$${at + 1}`);
          const text = `INSERT INTO ${tableOf(model)} (${fields.map(columnOf)}) VALUES (${places}) RETURNING *`;
          return withToken(
            model,
            fromRow((await write(text, values))[0] as Row),
            (data as Row).token,
          ) as never;
        },
        findOne: async ({ model, where }) => {
          const { text, values } = condition(model, where);
          const rows = await run(deps.sql, `SELECT * FROM ${tableOf(model)}${text} LIMIT 1`, values);
          return (rows[0] ? withToken(model, fromRow(rows[0]), tokenIn(where)) : null) as never;
        },
        findMany: async ({ model, where, limit, sortBy, offset }) => {
          const { text, values } = condition(model, where ?? []);
          const order = sortBy
            ? ` ORDER BY ${columnOf(sortBy.field)} ${sortBy.direction === 'asc' ? 'ASC' : 'DESC'}`
            : '';
          const rows = await run(
            deps.sql,
            `SELECT * FROM ${tableOf(model)}${text}${order} LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
            [...values, limit ?? 100, offset ?? 0],
          );
          return rows.map(fromRow) as never;
        },
        count: async ({ model, where }) => {
          const { text, values } = condition(model, where ?? []);
          const rows = await run(deps.sql, `SELECT count(*) AS count FROM ${tableOf(model)}${text}`, values);
          return rows[0]?.count as number;
        },
        update: async ({ model, where, update }) => {
          const rows = await write(...updateOf(model, where, timed(update as Row)));
          return (rows[0] ? withToken(model, fromRow(rows[0]), tokenIn(where)) : null) as never;
        },
        updateMany: async ({ model, where, update }) =>
          (await write(...updateOf(model, where, timed(update as Row)))).length,
        delete: async ({ model, where }) => {
          await write(...deletionOf(model, where));
        },
        deleteMany: async ({ model, where }) => (await write(...deletionOf(model, where))).length,
        consumeOne: async ({ model, where }) => {
          const { text, values } = condition(model, where);
          const table = tableOf(model);
          const rows = await write(
            `DELETE FROM ${table} WHERE id = (SELECT id FROM ${table}${text} LIMIT 1 FOR UPDATE) RETURNING *`,
            values,
          );
          return (rows[0] ? fromRow(rows[0]) : null) as never;
        },
        incrementOne: async ({ model, where, increment, set }) => {
          const { text, values } = condition(model, where);
          const changes = Object.entries(increment).map(
            ([field], at) =>
              `${columnOf(field)} = coalesce(${columnOf(field)}, 0) + $${values.length + at + 1}`,
          );
          const given = [...values, ...Object.values(increment)];
          for (const [field, value] of Object.entries((set ?? {}) as Row)) {
            given.push(stored(model, field, value));
            changes.push(`${columnOf(field)} = $${given.length}`);
          }
          const table = tableOf(model);
          const rows = await write(
            `UPDATE ${table} SET ${changes} WHERE id = (SELECT id FROM ${table}${text} LIMIT 1 FOR UPDATE) RETURNING *`,
            given,
          );
          return (rows[0] ? fromRow(rows[0]) : null) as never;
        },
      };
    },
  });

function updateOf(model: string, where: CleanedWhere[], update: Row): [string, unknown[]] {
  const { text, values } = condition(model, where);
  const changes = Object.keys(update).map((field, at) => `${columnOf(field)} = $${values.length + at + 1}`);
  return [
    `UPDATE ${tableOf(model)} SET ${changes}${text} RETURNING *`,
    [...values, ...Object.entries(update).map(([field, value]) => stored(model, field, value))],
  ];
}

function deletionOf(model: string, where: CleanedWhere[]): [string, unknown[]] {
  const { text, values } = condition(model, where);
  return [`DELETE FROM ${tableOf(model)}${text} RETURNING id`, values];
}

const operators: Readonly<Record<string, string>> = {
  eq: '=',
  ne: '<>',
  lt: '<',
  lte: '<=',
  gt: '>',
  gte: '>=',
};

function condition(model: string, where: readonly CleanedWhere[]): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  let text = '';
  for (const { field, value, operator, connector } of where) {
    const column = columnOf(field);
    let clause: string;
    if (value === null) clause = `${column} IS ${operator === 'ne' ? 'NOT NULL' : 'NULL'}`;
    else if (operator === 'in' || operator === 'not_in') {
      const places = (value as unknown[]).map((one) => `$${values.push(stored(model, field, one))}`);
      clause = places.length === 0 ? 'false' : `${column} IN (${places})`;
      if (operator === 'not_in') clause = `NOT (${clause})`;
    } else {
      const sign = operators[operator ?? 'eq'];
      if (sign === undefined) throw new Error(`better-auth asked for ${operator}, which nothing here needs`);
      clause = `${column} ${sign} $${values.push(stored(model, field, value))}`;
    }
    text += text === '' ? ` WHERE ${clause}` : ` ${connector === 'OR' ? 'OR' : 'AND'} ${clause}`;
  }
  return { text, values };
}

function tableOf(model: string): string {
  const table = tables[model];
  if (table === undefined) throw new Error(`better-auth asked for ${model}, which has no table`);
  return table;
}

const columnOf = (field: string): string =>
  field === 'credentialID'
    ? 'credential_id'
    : field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A session's token is stored as its SHA-256: who reads the table cannot act with it. 190 random bits need no slow hash. */
export const storedToken = (token: string): string => hash('sha256', token);

const stored = (model: string, field: string, value: unknown): unknown =>
  model === 'session' && field === 'token' && typeof value === 'string'
    ? storedToken(value)
    : value instanceof Date
      ? timestamp(value.getTime())
      : (value ?? null);

/** better-auth sets the cookie from the row that it gets back: with the token as it was given. */
const withToken = (model: string, row: Row, token: unknown): Row =>
  model === 'session' && token !== undefined ? { ...row, token } : row;

const tokenIn = (where: readonly CleanedWhere[]): unknown =>
  where.find(({ field, operator }) => field === 'token' && (operator ?? 'eq') === 'eq')?.value;

function fromRow(row: Row): Row {
  const record: Row = {};
  for (const [column, value] of Object.entries(row)) {
    const field =
      column === 'credential_id'
        ? 'credentialID'
        : column.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
    record[field] = /(At|Until)$/.test(field) && typeof value === 'number' ? new Date(value) : value;
  }
  return record;
}

/** A statement keeps its name, which is what a connection prepares it under. */
const statements = new Map<string, Statement>();

function statementOf(text: string): Statement {
  let statement = statements.get(text);
  if (statement === undefined) {
    statement = { name: `panel_auth_${statements.size + 1}`, text };
    statements.set(text, statement);
  }
  return statement;
}
