import { randomBytes } from 'node:crypto';
import { makeCells } from '@vintem/testkit/cells.ts';
import { createCitusDatabase } from '@vintem/testkit/citus.ts';
import { createDatabase } from '@vintem/testkit/database.ts';
import { type KeptStatement, keptStatements } from '@vintem/testkit/statements.ts';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../server/src/ground/log.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import { systemIds } from '../../server/src/ports/ids.ts';
import { migrate, prepareInstallation } from '../../server/src/store/database/migrate.ts';
import {
  openPool,
  plansOfServer,
  sessionSettings,
  withSessionOptions,
} from '../../server/src/store/database/pool.ts';

/**
 * Every statement that the program keeps is run in each cell with the settings of the service, in a transaction that is rolled back: on one server, and with the
 * same values on the Citus cluster whose coordinator is at `CITUS_URL`. The cluster refuses a statement where it answers another SQLSTATE.
 */
const address = process.env.CITUS_URL;
const cell = 'vintem_2';
const paths = ['vintem', `${cell},vintem`];

let statements: KeptStatement[];
let plain: { url: string; drop(): Promise<void> };
const ending: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  statements = keptStatements(cell);
  plain = await createDatabase({ live: false });
  ending.push(plain.drop);
  await makeCells(plain.url, 1);
});
afterAll(async () => {
  for (const end of ending.reverse()) await end();
});

/** Of each type that a parameter has: a value that no row has. */
const samples: Readonly<Record<string, string>> = {
  uuid: '01890000-0000-7000-8000-000000000001',
  text: '01890000-0000-7000-8000-000000000002',
  bigint: '1',
  integer: '1',
  smallint: '1',
  'double precision': '1',
  numeric: '1',
  boolean: 'true',
  'timestamp with time zone': '2026-11-28 12:00:00+00',
  date: '2026-11-28',
  bytea: '\\x00',
  jsonb: '{}',
  json: '{}',
  interval: '1 day',
};

const sampleOf = (type: string): string | null =>
  type.endsWith('[]') ? `{"${samples[type.slice(0, -2)] ?? ''}"}` : (samples[type] ?? null);

/** A class of errors says that the statement ran and its rows were refused: which constraint comes first is not said. */
const outcomeOf = (code: string): string => (code.startsWith('23') ? 'rows are refused' : code);

/** Types of the parameters by statement, from one server. */
async function typesAt(url: string): Promise<Map<string, string[]>> {
  const client = await connected(url, paths[1] as string);
  const types = new Map<string, string[]>();
  try {
    for (const { name, text } of statements) {
      await client.query(`PREPARE "${name}" AS ${text}`);
      const { rows } = await client.query<{ types: string[] }>(
        'SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = $1',
        [name.slice(0, 63)],
      );
      types.set(name, rows[0]?.types ?? []);
    }
  } finally {
    await client.end();
  }
  return types;
}

async function connected(url: string, path: string): Promise<pg.Client> {
  const client = new pg.Client({
    ...withSessionOptions(url, { role: 'vintem_app', ...sessionSettings, search_path: path }),
    application_name: 'statements',
  });
  client.on('error', () => {});
  await client.connect();
  await plansOfServer()(client);
  return client;
}

/** By path and statement what is answered. @param runs of each: from the sixth on PostgreSQL may take a plan without values */
async function answersAt(url: string, types: Map<string, string[]>, runs = 1): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const path of paths) {
    let client = await connected(url, path);
    for (const { name, text } of statements) {
      const wanted = types.get(name) ?? [];
      const values = wanted.map(sampleOf);
      let said = 'ok';
      for (let run = 0; run < runs && said === 'ok'; run++) {
        try {
          await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
          await client.query({ name, text, values });
        } catch (error) {
          const { code, message } = error as pg.DatabaseError;
          said = code === undefined ? `the connection ended: ${message}` : outcomeOf(code);
        }
        await client.query('ROLLBACK').catch(async () => {
          client = await connected(url, path);
        });
      }
      answers.set(`${path}: ${name}`, said);
    }
    await client.end();
  }
  return answers;
}

test('PostgreSQL understands every statement that the program keeps, in each cell', async () => {
  expect(statements.length).toBeGreaterThan(800);
  const answers = await answersAt(plain.url, await typesAt(plain.url));
  const wrong = [...answers].filter(([, said]) => said.includes('42'));
  expect(wrong).toEqual([]);
});

test.runIf(address)('A Citus cluster answers every statement as one server does', async () => {
  const database = await createCitusDatabase(
    address as string,
    `statements_${randomBytes(4).toString('hex')}`,
  );
  ending.push(database.drop);
  const log = createLog('silent');
  await migrate({ url: database.url, clock: systemClock, log });
  const sql = openPool({ url: database.url, log, name: 'statements' });
  await prepareInstallation({ sql, clock: systemClock, ids: systemIds(systemClock) }, { live: false });
  await sql.close();
  await makeCells(database.url, 1);
  const types = await typesAt(plain.url);
  const here = await answersAt(plain.url, types);
  const there = await answersAt(database.url, types, 6);
  const refused = [...there].flatMap(([name, said]) =>
    said === here.get(name) ? [] : [`${name}: ${said} (one server: ${here.get(name)})`],
  );
  expect(refused).toEqual([]);
});
