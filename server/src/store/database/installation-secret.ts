import { SettingFault } from '../../ground/config.ts';
import type { Log } from '../../ground/log.ts';
import type { Secrets } from '../../ground/secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { countSealed, nameFactors, sealAgain } from './sealed-columns.ts';

/**
 * Which secret the installation has, and how it is changed.
 *
 * The database keeps an id of the secret, so that two machines with different secrets cannot both start on it, and the ids of all
 * secrets that anything may be sealed under. A secret is dropped in three steps: start with the new one in `VINTEM_SECRET` and the old
 * one in `VINTEM_SECRET_PREVIOUS`, run `vintem secret rotate`, start without the old one.
 */
interface Deps {
  sql: Sql;
  secrets: Secrets;
}

const lockInstallation: Statement = {
  name: 'secret_installation',
  text: 'SELECT secret_id AS "secretId" FROM installation FOR UPDATE',
};
const neededIds: Statement = {
  name: 'secret_needed',
  text: 'SELECT id FROM sealing_secret WHERE cleared_at IS NULL',
};
const use: Statement = {
  name: 'secret_use',
  text: `INSERT INTO sealing_secret (id, used_at) VALUES ($1, now())
    ON CONFLICT (id) DO UPDATE SET used_at = now(), cleared_at = NULL`,
};
const claim: Statement = {
  name: 'secret_claim',
  text: 'UPDATE installation SET secret_id = $1 WHERE secret_id IS NULL',
};

/**
 * Before anything is sealed: registers the secret, which the first start makes the installation's, and makes the peppers of earlier
 * secrets known.
 * @throws SettingFault when this process could not open everything that is stored, with the count
 */
export async function claimSecret({ sql, secrets }: Deps): Promise<void> {
  const unknown = await registered({ sql, secrets }, []);
  if (unknown.length > 0) {
    const counts = await countSealed(sql, secrets.id);
    const closed = [...counts].filter(([id]) => unknown.includes(id));
    const count = closed.reduce((sum, [, each]) => sum + each, 0);
    const ids = unknown.join(', ');
    if (count > 0) {
      throw new SettingFault(
        `VINTEM_SECRET: ${count} stored values need a secret that is not set (${ids}): set it, in VINTEM_SECRET_PREVIOUS if it was replaced, and run \`vintem secret rotate\` before it is dropped`,
      );
    }
    // A secret that was used and left nothing behind is not needed; the installation's own is, or machines would differ.
    if ((await registered({ sql, secrets }, unknown)).length > 0) {
      throw new SettingFault(
        `VINTEM_SECRET: this installation uses another secret (${ids}): set the same one on every machine; to replace it, set it in VINTEM_SECRET_PREVIOUS and run \`vintem secret rotate\` (0 stored values need it)`,
      );
    }
  }
  for (const { id, sealed } of await sql.run<{ id: string; sealed: Buffer }>(retiredPeppers)) {
    secrets.addPepper(id, secrets.open(sealed, id));
  }
  await nameFactors({ sql, secrets });
}

const needed: Statement = {
  name: 'secret_all_needed',
  text: `SELECT secret_id AS id FROM installation WHERE secret_id IS NOT NULL
    UNION SELECT id FROM sealing_secret WHERE cleared_at IS NULL`,
};

/** The ids of the secrets that the database may need and that are not configured. Changes nothing. */
export async function missingSecrets({ sql, secrets }: Deps): Promise<string[]> {
  const ids = (await sql.run<{ id: string }>(needed)).map(({ id }) => id);
  return ids.filter((id) => !secrets.known.some((one) => one.id === id));
}

/** Registers the secret unless others are needed that are not configured. @returns those, without what was looked at already */
function registered({ sql, secrets }: Deps, unneeded: readonly string[]): Promise<string[]> {
  const isKnown = (id: string) => secrets.known.some((one) => one.id === id);
  // Under the lock of the installation's row, so that of two machines with different secrets the second sees the first.
  return sql.tx(async (tx) => {
    const [installation] = await tx.run<{ secretId: string | null }>(lockInstallation);
    const needed = await tx.run<{ id: string }>(neededIds);
    const ids = needed.map(({ id }) => id).filter((id) => !unneeded.includes(id));
    const all = new Set([...ids, ...(installation?.secretId ? [installation.secretId] : [])]);
    const unknown = [...all].filter((id) => !isKnown(id));
    if (unknown.length === 0) {
      await Promise.all([tx.run(use, [secrets.id]), tx.run(claim, [secrets.id])]);
    }
    return unknown;
  });
}

/** How often a running process renews its row, and after how long without it the process is gone. */
const renewEveryMs = 10_000;
const goneAfterSeconds = 30;

/** Says, while the process runs, that it seals under its secret: `secret rotate` does not clear a secret that is in use. */
export async function keepInUse(
  { sql, secrets, clock, log }: Deps & { clock: Clock; log: Log },
  ending: AbortSignal,
): Promise<void> {
  while (!ending.aborted) {
    await clock.sleep(renewEveryMs, ending);
    if (ending.aborted) return;
    await sql
      .tx((tx) => tx.run(use, [secrets.id]))
      .catch((err: unknown) => log.warn({ err }, 'the use of the secret was not renewed'));
  }
}

export interface SealedUnder {
  /** The id of the secret that is set. */
  current: string;
  /** How many values need each secret; the current first. */
  sealed: { secret: string; count: number }[];
}

export async function statusOfSecrets({ sql, secrets }: Deps): Promise<SealedUnder> {
  const counts = [...(await countSealed(sql, secrets.id))].sort(([a], [b]) =>
    a === secrets.id ? -1 : b === secrets.id ? 1 : a.localeCompare(b),
  );
  return { current: secrets.id, sealed: counts.map(([secret, count]) => ({ secret, count })) };
}

const retiredPeppers: Statement = { name: 'secret_peppers', text: 'SELECT id, sealed FROM retired_pepper' };
const pepperIds: Statement = {
  name: 'secret_pepper_ids',
  text: `SELECT DISTINCT pepper_id AS id FROM api_key k
    WHERE pepper_id <> $1 AND NOT EXISTS (SELECT FROM retired_pepper r WHERE r.id = k.pepper_id)`,
};
const retire: Statement = {
  name: 'secret_retire',
  text: 'INSERT INTO retired_pepper (id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING',
};
const takeOver: Statement = {
  name: 'secret_take_over',
  text: 'UPDATE installation SET secret_id = $1 WHERE secret_id IS DISTINCT FROM $1',
};
const othersInUse: Statement = {
  name: 'secret_in_use',
  text: `SELECT id FROM sealing_secret
    WHERE id <> $1 AND cleared_at IS NULL AND used_at > now() - make_interval(secs => ${goneAfterSeconds})`,
};
const clear: Statement = {
  name: 'secret_clear',
  text: `UPDATE sealing_secret SET cleared_at = now()
    WHERE id = ANY ($1::text[]) AND used_at <= now() - make_interval(secs => ${goneAfterSeconds})`,
};

/** A process that keeps running under another secret longer than this was not restarted with the new one. */
const waitMostMs = 90_000;

/**
 * Seals every value under the current secret that is sealed under another one, beside a running service. Every step is committed by
 * itself and looks for what is left, so the rotation may be interrupted and repeated at any point.
 *
 * API keys stay valid: their hashes need the old pepper, which is kept, sealed under the current secret. (A key can be hashed again only
 * when it is presented; 256 random bits are as safe under the old pepper as under the new one.)
 * @throws Error when a running process still seals under another secret, or values are left that cannot be opened
 */
export async function rotateSecrets(deps: Deps & { clock: Clock; log: Log }): Promise<SealedUnder> {
  const { sql, secrets, clock, log } = deps;
  await retirePeppers(deps);
  await sealAgain(deps);
  await sql.tx((tx) => tx.run(takeOver, [secrets.id]));
  const deadline = clock.monotonicMs() + waitMostMs;
  for (let told = false; ; ) {
    const inUse = (await sql.run<{ id: string }>(othersInUse, [secrets.id])).map(({ id }) => id);
    if (inUse.length === 0) break;
    if (clock.monotonicMs() > deadline) {
      throw new Error(
        `a running process still seals under ${inUse.join(', ')}: restart it with the new secret, then run this again`,
      );
    }
    if (!told) log.info({ secrets: inUse }, 'waiting for processes with another secret to end');
    told = true;
    await clock.sleep(1_000);
  }
  // The processes of the other secrets are gone: what they sealed last is sealed again, and nothing new comes.
  await retirePeppers(deps);
  await sealAgain(deps);
  const status = await statusOfSecrets(deps);
  const left = new Map(status.sealed.map(({ secret, count }) => [secret, count]));
  const others = (await sql.run<{ id: string }>(neededIds)).map(({ id }) => id);
  await sql.tx((tx) => tx.run(clear, [others.filter((id) => id !== secrets.id && !left.has(id))]));
  return status;
}

async function retirePeppers({ sql, secrets }: Deps): Promise<void> {
  const ids = await sql.run<{ id: string }>(pepperIds, [secrets.id]);
  const found = ids.flatMap(({ id }) => {
    const pepper = secrets.pepperOf(id);
    return pepper ? [{ id, sealed: secrets.seal(pepper, id) }] : [];
  });
  if (found.length === 0) return;
  await sql.tx((tx: Queries) => Promise.all(found.map(({ id, sealed }) => tx.run(retire, [id, sealed]))));
}
