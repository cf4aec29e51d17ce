import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask } from '@vintem/testkit/citus.ts';
import { freePort } from '@vintem/testkit/free-port.ts';
import { pause } from '../processes/clients.ts';
import { type Servers, serversIn } from '../processes/servers.ts';

/** A Citus cluster of this rig's own, whose nodes are copied by pgBackRest as `docs/operators/scaling.md` says. */
export interface OwnCluster {
  /** Of the database `vintem` of the coordinator. */
  url: string;
  /** A base backup of each node. */
  backUp(): Promise<void>;
  /** One point in the logs of all nodes, which are in the archive up to it when this resolves. */
  restorePoint(name: string): Promise<void>;
  /** kill -9 of all nodes: their data is never looked at again. */
  lose(): Promise<void>;
  /** New nodes under the same addresses, each as it was at the point. */
  restore(point: string): Promise<void>;
  close(): Promise<void>;
}

const names = ['coordinator', 'worker-1', 'worker-2'] as const;

/** Of the nodes, beside `docs/operators/scaling.md`: three on one machine, which ends within minutes. */
const settings = `shared_preload_libraries = 'citus'
wal_level = logical
max_prepared_transactions = 200
max_connections = 200
citus.node_conninfo = 'sslmode=prefer'
archive_mode = on
`;

/** @returns null: the cluster can be made */
export function lacksFor(tools: string | null): string | null {
  if (tools === null) return "PostgreSQL's own tools are not installed";
  const shared = spawnSync(join(tools, 'pg_config'), ['--sharedir'], { encoding: 'utf8' }).stdout?.trim();
  if (!existsSync(join(shared ?? '', 'extension/citus.control'))) return 'Citus is not installed';
  if (spawnSync('pgbackrest', ['version']).status !== 0) return 'pgbackrest is not installed';
  return null;
}

export async function openOwnCluster(tools: string, folder: string): Promise<OwnCluster> {
  const servers = serversIn(tools, join(folder, 'servers'));
  const ports = [await freePort(), await freePort(), await freePort()];
  const nodes = names.map((name, at) => nodeOf(servers, name, ports[at] as number));
  const each = (work: (node: Node) => Promise<unknown>) => Promise.all(nodes.map(work));
  const [coordinator, ...workers] = nodes as [Node, ...Node[]];
  const url = coordinator.url('vintem');
  const lose = async () => void (await each((node) => node.kill()));
  try {
    writeFileSync(configOf(servers), copyingOf(servers, nodes));
    await each((node) => node.make());
    await ask(url, 'SELECT citus_set_coordinator_host($1, $2)', ['127.0.0.1', coordinator.port]);
    for (const { port } of workers) await ask(url, 'SELECT citus_add_node($1, $2)', ['127.0.0.1', port]);
    await each((node) => node.copying('stanza-create'));
  } catch (error) {
    await lose();
    throw error;
  }
  return {
    url,
    lose,
    close: lose,
    backUp: async () => void (await each((node) => node.copying('--type=full', 'backup'))),
    restorePoint: async (name) => {
      await ask(url, 'SELECT citus_create_restore_point($1)', [name]);
      await each((node) => node.copying('check'));
    },
    restore: async (point) => void (await each((node) => node.restore(point))),
  };
}

interface Node {
  name: string;
  port: number;
  url(database: string): string;
  /** With the database and the extension. */
  make(): Promise<void>;
  kill(): Promise<void>;
  /** A command of pgBackRest. */
  copying(...words: string[]): Promise<void>;
  restore(point: string): Promise<void>;
}

const configOf = ({ folder }: Servers): string => join(folder, 'pgbackrest.conf');
const firstData = ({ folder }: Servers, name: string): string => join(folder, name);

const copyingOf = (servers: Servers, nodes: readonly Node[]): string =>
  [
    `[global]\nrepo1-path=${join(servers.folder, 'archive')}\nlock-path=${join(servers.folder, 'locks')}\nlog-level-file=off\nstart-fast=y`,
    ...nodes.map(
      ({ name, port }) =>
        `[${name}]\npg1-path=${firstData(servers, name)}\npg1-port=${port}\npg1-user=postgres\npg1-socket-path=${servers.folder}`,
    ),
  ].join('\n\n');

function nodeOf(servers: Servers, name: string, port: number): Node {
  let data = firstData(servers, name);
  const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const copying = (...words: string[]) =>
    servers.run('pgbackrest', [`--config=${configOf(servers)}`, `--stanza=${name}`, ...words]);
  const begin = () => servers.begin(data, port, `-c unix_socket_directories=${servers.folder}`);
  return {
    name,
    port,
    url,
    copying,
    make: async () => {
      await servers.make(data);
      const push = `pgbackrest --config=${configOf(servers)} --stanza=${name} archive-push %p`;
      appendFileSync(join(data, 'postgresql.conf'), `${settings}archive_command = '${push}'\n`);
      await begin();
      await ask(url('postgres'), 'CREATE DATABASE vintem');
      await ask(url('vintem'), 'CREATE EXTENSION citus');
    },
    kill: () => servers.kill(data),
    restore: async (point) => {
      data = `${data}-again`;
      await copying(
        ...[`--pg1-path=${data}`, '--type=name', `--target=${point}`, '--target-action=promote'],
        'restore',
      );
      await begin();
      const serves = 'SELECT FROM pg_database WHERE NOT pg_is_in_recovery() LIMIT 1';
      while ((await ask(url('vintem'), serves)).length === 0) await pause(200);
    },
  };
}
