import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, type TestDatabase } from '@vintem/testkit/database.ts';
import { until } from '@vintem/testkit/service.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/ground/log.ts';
import { listIncidents } from '../../src/operate/incidents/incident.ts';
import { noteDatabaseLoss } from '../../src/operate/lost-time.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { systemIds } from '../../src/ports/ids.ts';
import {
  createMarkWatch,
  type Look,
  lossOf,
  type Mark,
  type MarkWatch,
} from '../../src/store/database/mark.ts';
import { openPool, type Pool } from '../../src/store/database/pool.ts';

let database: TestDatabase;
let folder: string;
const ids = systemIds(systemClock);
const log = createLog('silent');
/** Nothing is compared by itself: only starts and connections are. */
const ended = AbortSignal.abort();

beforeAll(async () => {
  database = await createDatabase({ live: false });
  folder = await mkdtemp(join(tmpdir(), 'vintem-mark-'));
});
afterEach(() =>
  database.admin(
    `UPDATE installation SET restored_at = NULL, lost_since = NULL, withdrawals_paused_at = NULL, withdrawals_paused_reason = NULL`,
  ),
);
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

/** A process that begins: what it noticed. */
async function begun(watch: MarkWatch = createMarkWatch(), dataDir = folder, on = database) {
  const losses: { since: number; why: string }[] = [];
  const { sql } = on;
  const home = {
    sql,
    clock: systemClock,
    ids,
    log,
    cells: { refresh: async () => {}, all: () => [{ sql }] },
  };
  const onLoss = async (since: number, why: string) => {
    losses.push({ since, why });
    await noteDatabaseLoss(home, since, why);
  };
  await watch.begin({ sql, clock: systemClock, ids, log, dataDir, onLoss }, ended);
  return losses;
}

const paused = async () =>
  (
    await database.admin<{ restored: boolean; paused: boolean; since: Date | null }>(
      `SELECT restored_at IS NOT NULL AS restored, withdrawals_paused_at IS NOT NULL AS paused, lost_since AS since FROM installation`,
    )
  )[0];

const goBack = () => database.admin('DELETE FROM database_mark WHERE seq > 1');

const mark: Mark = {
  ...{ installation: 'i', seq: 5, token: 'a', at: 1_000 },
  ...{ system: 's', timeline: '1', synchronous: false },
};
const look: Look = {
  ...{ installation: 'i', newest: { seq: 6, token: 'b', at: 2_000 }, oldestSeq: 1, token: 'a', noted: false },
  ...{ system: 's', timeline: '1', synchronous: false, flushes: true, createdAt: 0 },
};

test('a database that lacks what a process has seen committed has gone back', () => {
  expect(lossOf(mark, look)).toBeNull();
  const behind = { token: null, newest: { seq: 4, token: 'c', at: 500 } };
  expect(lossOf(mark, { ...look, ...behind })).toEqual({ since: null, why: 'behind' });
  expect(lossOf(mark, { ...look, token: null, newest: null })).toEqual({ since: null, why: 'behind' });
  // It went back and has gone on: another row has the number.
  expect(lossOf(mark, { ...look, token: 'c' })).toEqual({ since: null, why: 'diverged' });
  // A standby was promoted: it has the row, and perhaps not what came behind it.
  expect(lossOf(mark, { ...look, timeline: '2' })).toEqual({ since: 1_000, why: 'timeline' });
  expect(lossOf({ ...mark, synchronous: true }, { ...look, timeline: '2' })).toBeNull();
  expect(lossOf(mark, { ...look, system: 't' })).toEqual({ since: 1_000, why: 'system' });
});

test('what is noted already, too old to be kept, or of another installation is no new loss', () => {
  const gone = { ...look, token: 'c' };
  expect(lossOf(mark, { ...gone, noted: true })).toBeNull();
  expect(lossOf(mark, { ...gone, token: null, oldestSeq: 6 })).toBeNull();
  expect(lossOf(mark, { ...gone, installation: 'j' })).toBeNull();
});

test('a process that starts on a database that went back pauses withdrawals, once', async () => {
  expect(await begun()).toEqual([]);
  await database.admin(
    `INSERT INTO database_mark VALUES (2, gen_random_uuid(), clock_timestamp() + interval '1 ms')`,
  );
  expect(await begun()).toEqual([]);
  expect(JSON.parse(await readFile(join(folder, 'database-mark.json'), 'utf8'))).toMatchObject({ seq: 2 });
  const [first] = await database.admin<{ at: Date }>(
    'SELECT written_at AS at FROM database_mark WHERE seq = 1',
  );
  await goBack();
  expect(await begun()).toEqual([{ since: first?.at.getTime(), why: 'behind' }]);
  expect(await paused()).toEqual({ restored: true, paused: true, since: first?.at });
  const found = await listIncidents({ sql: database.sql, clock: systemClock }, null);
  expect(found.map(({ kind, state }) => ({ kind, state }))).toEqual([{ kind: 'lost_time', state: 'open' }]);
  // The next start finds it noted.
  expect(await begun()).toEqual([]);
  // A host without a file knows nothing of the past.
  expect(await begun(createMarkWatch(), await mkdtemp(join(folder, 'fresh-')))).toEqual([]);
});

test('A new connection to a database that went back pauses withdrawals before it is used, by a pause that a comparison ends', async () => {
  const watch = createMarkWatch();
  const losses = await begun(watch);
  await database.admin(
    `INSERT INTO database_mark SELECT max(seq) + 1, gen_random_uuid(), clock_timestamp() FROM database_mark`,
  );
  const second = await begun(watch);
  const pool: Pool = openPool({ url: database.url, log, name: 'vintem mark', size: 1, verify: watch.verify });
  try {
    await database.admin('DELETE FROM database_mark WHERE seq = (SELECT max(seq) FROM database_mark)');
    expect(await pool.run({ name: 'one', text: 'SELECT 1 AS n' })).toEqual([{ n: 1 }]);
    expect(await paused()).toMatchObject({ restored: true, paused: true });
    await until(async () => losses.length + second.length === 1);
    // Once the loss is noted: a pause of another moment would count as a person's, and no comparison would end it.
    expect(
      await database.admin('SELECT withdrawals_paused_at = restored_at AS ours FROM installation'),
    ).toEqual([{ ours: true }]);
  } finally {
    await pool.close();
  }
});

test('a mark that moves on while a connection is compared is no loss', async () => {
  const own = await createDatabase({ live: false });
  const [watch, dataDir] = [createMarkWatch(), await mkdtemp(join(folder, 'moves-'))];
  await begun(watch, dataDir, own);
  const client = {
    query: async (text: string, values: string[]) => {
      const rows = await own.admin(text, values);
      // A newer row is committed and remembered before the answer arrives.
      await own.admin(
        `INSERT INTO database_mark SELECT max(seq) + 1, gen_random_uuid(), clock_timestamp() FROM database_mark`,
      );
      expect(await begun(watch, dataDir, own)).toEqual([]);
      return { rows };
    },
  };
  await watch.verify(client as never);
  expect(await own.admin('SELECT restored_at FROM installation')).toEqual([{ restored_at: null }]);
  await own.drop();
});
