import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { command, commandsWith } from '../chaos/processes.ts';
import { numbersGiven } from '../flags.ts';
import { loadOf, merchantIn, pause, startClients } from '../processes/clients.ts';
import {
  askWhilePaused,
  completePending,
  countLost,
  repeatAll,
  transfersAsked,
} from '../processes/lost-interval.ts';
import { toolsOf } from '../processes/pair.ts';
import { openScene } from '../processes/scene.ts';
import { lacksFor, openOwnCluster } from './own-cluster.ts';

/**
 * Backup of a Citus cluster, its loss and its restore, by the commands of `docs/operators/scaling.md`: a coordinator and two workers with a cell each. Under
 * load each node is copied and a restore point is made over all of them; the load continues (the lost interval), and all nodes die. New ones are restored to
 * the point. The program that starts there must see by itself that the database went back: transfers are paused until `reconcile` has ended. Then every
 * request is sent once more, and the provider must have accepted none of them twice.
 *
 *   node proof/citus/backup.ts [--seed N] [--clients N]
 *
 * Needs PostgreSQL's own tools (PG_BIN, or the newest of /usr/lib/postgresql), Citus for them, and pgBackRest.
 */
export interface ClusterBackupFigures {
  notRun: string | null;
  transfers: number;
  acknowledged: number;
  /** Acknowledged behind the restore point. */
  lost: number;
  pausedAnswers: number;
  /** By `reconcile`, from the provider's lists. */
  posted: number;
  paidTwice: number;
  /** From the loss to the first answer of the restored service, with the restore of three nodes. */
  awaySeconds: number;
  faults: string[];
}

export async function backUpCluster(options: {
  seed: number;
  clients: number;
  say(line: string): void;
}): Promise<ClusterBackupFigures> {
  const tools = toolsOf();
  const figures: ClusterBackupFigures = {
    notRun: lacksFor(tools),
    transfers: 0,
    acknowledged: 0,
    lost: 0,
    pausedAnswers: 0,
    posted: 0,
    paidTwice: 0,
    awaySeconds: 0,
    faults: [],
  };
  if (tools === null || figures.notRun) options.say(`not run: ${figures.notRun}`);
  else await loseAndRestore(tools, options, figures);
  return figures;
}

async function loseAndRestore(
  tools: string,
  { seed, clients: many, say }: Parameters<typeof backUpCluster>[0],
  figures: ClusterBackupFigures,
): Promise<void> {
  const must = (holds: boolean, what: string) => {
    if (!holds) figures.faults.push(what);
  };
  await using scene = await openScene('citus-backup', {
    VINTEM_SECRET: randomBytes(32).toString('base64'),
  });
  const { folder, simulatorUrl } = scene;
  const cluster = await openOwnCluster(tools, folder);
  scene.atEnd(cluster.close);
  const env = { ...scene.env, DATABASE_URL: cluster.url, SIMULATOR_STATE: join(folder, 'simulator') };
  const run = commandsWith(env);
  await run(['migrate']);
  const cells = [];
  for (const _ of ['worker-1', 'worker-2']) cells.push((await run<{ name: string }>(['cells', 'add'])).name);
  const before = scene.launch(['start'], { env });
  await before.start();
  const merchants = await Promise.all(
    cells.map((cell) => merchantIn(cell, { run, url: scene.url, simulatorUrl })),
  );
  const { call, operations } = loadOf(merchants);
  const historyPath = join(folder, 'history.ndjson');
  using clients = startClients({ call, operations, seed, clients: many, historyPath });
  const acknowledgedBehind = async (many: number) => {
    const from = clients.counts.acknowledged;
    for (let tries = 0; tries < 600 && clients.counts.acknowledged < from + many; tries++) await pause(100);
  };
  await acknowledgedBehind(20);
  await cluster.backUp();
  await acknowledgedBehind(20);
  await cluster.restorePoint('before_the_loss');
  say(`${clients.counts.acknowledged} acknowledged, copied up to the restore point`);
  await acknowledgedBehind(40);
  const lostAt = Date.now();
  await cluster.lose();
  before.signal('SIGKILL');
  await before.exited();
  // Nothing answers: what had no answer is repeated at the end.
  clients[Symbol.dispose]();
  await clients.stop();
  const asked = transfersAsked(historyPath);
  figures.transfers = asked.length;
  figures.acknowledged = asked.filter(({ paymentId }) => paymentId !== null).length;

  await cluster.restore('before_the_loss');
  const after = scene.launch(['start'], { env, name: 'restored' });
  await after.start();
  figures.awaySeconds = Math.round((Date.now() - lostAt) / 1_000);
  const { lost, looked } = await countLost(call, asked);
  figures.lost = lost;
  must(lost > 0, `nothing was lost behind the restore point: ${JSON.stringify(looked)}`);
  figures.pausedAnswers = await askWhilePaused(call, asked.slice(-10), must);
  const { incidents } = await run<{ incidents: { kind: string }[] }>(['incident', 'list']);
  must(
    incidents.some(({ kind }) => kind === 'lost_time'),
    'no incident says that the database went back',
  );
  // A payout of the lost time that is under way keeps the pause.
  await completePending(simulatorUrl);
  type Compared = { unexpected: number; restoreEnded: boolean };
  const compared = await command<Compared>(['reconcile'], env);
  must(
    compared.code === 0 && compared.json?.restoreEnded === true,
    `reconcile ended with ${compared.code}: ${compared.text.slice(0, 500)}`,
  );
  figures.posted = compared.json?.unexpected ?? 0;
  figures.paidTwice = await repeatAll({ call, operations, simulatorUrl, must }, asked);
  const verified = await command(['verify', '--full'], env);
  must(verified.code === 0, `verify ended with ${verified.code}: ${verified.text.slice(0, 2_000)}`);
  say(
    `${figures.transfers} transfers, ${lost} lost with the cluster, ${figures.posted} posted by reconcile, ${figures.paidTwice} paid twice`,
  );
}

if (import.meta.main) {
  const figures = await backUpCluster({ ...numbersGiven({ seed: 1, clients: 8 }), say: console.log });
  console.log(JSON.stringify(figures, null, 2));
  process.exitCode = figures.faults.length > 0 ? 1 : 0;
}
