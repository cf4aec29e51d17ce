import { chownSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { http, sleep } from '../chaos/processes.ts';
import type { Machine } from './network.ts';

/** Three machines with PostgreSQL under Patroni and a member of etcd each, as `deploy/examples/patroni.yaml` has them. */
export interface Cluster {
  nodes: readonly Node[];
  /** @throws Error when there is none */
  leader(): Promise<Node>;
  /** A node that follows synchronously, without which nothing is acknowledged. */
  syncReplica(): Promise<Node>;
  /** The node whose member of etcd leads the others. */
  etcdLeader(): Promise<Node>;
  /** Until a leader and two replicas that follow it are there, one of them synchronously. */
  whole(withinMs: number): Promise<void>;
}

export interface Node {
  name: string;
  machine: Machine;
  startEtcd(): void;
  startPatroni(): void;
}

interface Member {
  name: string;
  role: string;
  state: string;
  lag?: number | string;
}

/** Under load a replica is always some entries behind. */
const followsBytes = 1 << 24;

/** Longer than the five seconds after which a node looks again. */
const wholeTimes = 12;

const example = new URL('../../deploy/examples/patroni.yaml', import.meta.url);

export function prepareCluster(options: {
  folder: string;
  machines: readonly Machine[];
  /** With `initdb` and `postgres`. */
  bin: string;
  /** Of the user `postgres`. */
  user: { uid: number; gid: number };
}): Cluster {
  const { folder, machines, bin, user } = options;
  const etcds = machines.map(({ address }, n) => `db${n + 1}=http://${address}:2380`).join(',');
  const nodes = machines.map((machine, n): Node => {
    const name = `db${n + 1}`;
    const home = join(folder, name);
    mkdirSync(home, { mode: 0o700 });
    chownSync(home, user.uid, user.gid);
    const config = join(home, 'patroni.yaml');
    writeFileSync(config, stringify(settingsOf(name, home)));
    chownSync(config, user.uid, user.gid);
    const log = (program: string) => openSync(join(folder, `${name}-${program}.log`), 'a');
    return {
      name,
      machine,
      startEtcd: () => machine.run(etcdWords(name, home, machine.address), log('etcd')),
      startPatroni: () => machine.run(['patroni', config], log('patroni')),
    };
  });

  /** The example, with the addresses and folders of here, without TLS and passwords, and without a watchdog, which is hardware. */
  function settingsOf(name: string, home: string): object {
    const { watchdog: _, ...settings } = parse(readFileSync(example, 'utf8'));
    const { address } = nodeMachine(name);
    const passwordless = `host all all ${address.replace(/\d+$/, '0')}/24 trust`;
    return {
      ...settings,
      name,
      restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
      etcd3: { hosts: machines.map((one) => `${one.address}:2379`) },
      bootstrap: {
        ...settings.bootstrap,
        pg_hba: [passwordless, passwordless.replace(' all all ', ' replication all ')],
      },
      postgresql: {
        ...settings.postgresql,
        listen: `${address}:5432`,
        connect_address: `${address}:5432`,
        data_dir: join(home, 'data'),
        bin_dir: bin,
        pgpass: join(home, 'pgpass'),
        parameters: { unix_socket_directories: home },
        authentication: {
          superuser: { username: 'postgres', password: 'proof' },
          replication: { username: 'replicator', password: 'proof' },
        },
      },
    };
  }
  function nodeMachine(name: string): Machine {
    return machines[Number(name.slice(2)) - 1] as Machine;
  }
  function etcdWords(name: string, home: string, address: string): string[] {
    return [
      'etcd',
      ...['--name', name, '--data-dir', join(home, 'etcd')],
      ...['--listen-peer-urls', `http://${address}:2380`],
      ...['--initial-advertise-peer-urls', `http://${address}:2380`],
      ...['--listen-client-urls', `http://${address}:2379`],
      ...['--advertise-client-urls', `http://${address}:2379`],
      ...['--initial-cluster', etcds, '--initial-cluster-token', 'proof'],
    ];
  }

  /** As the first node says that answers and has a leader. */
  async function members(): Promise<Member[]> {
    for (const { machine } of nodes) {
      const url = `http://${machine.address}:8008/cluster`;
      const { status, body } = await http('GET', url, undefined, {}, 1_000);
      const listed: Member[] = status === 200 ? body.members : [];
      if (listed.some(({ role }) => role === 'leader')) return listed;
    }
    return [];
  }
  const nodeIn = async (role: string): Promise<Node> => {
    for (let tries = 0; tries < 120; tries++) {
      const found = (await members()).find((one) => one.role === role);
      if (found) return nodes.find(({ name }) => name === found.name) as Node;
      await sleep(500);
    }
    throw new Error(`no node is ${role} within a minute`);
  };
  return {
    nodes,
    leader: () => nodeIn('leader'),
    syncReplica: () => nodeIn('sync_standby'),
    etcdLeader: async () => {
      for (const node of nodes) {
        const url = `http://${node.machine.address}:2379/v3/maintenance/status`;
        const { body } = await http('POST', url, {}, {}, 1_000);
        if (body !== undefined && body.leader === body.header.member_id) return node;
      }
      throw new Error('etcd has no leader');
    },
    whole: async (withinMs) => {
      let seen: Member[] = [];
      let timesWhole = 0;
      for (const until = performance.now() + withinMs; performance.now() < until; await sleep(500)) {
        seen = await members();
        // A follower is "running" before version 3.1 of Patroni and "streaming" since.
        const follow = seen.filter(
          ({ role, state, lag }) =>
            role !== 'leader' &&
            /running|streaming/.test(state) &&
            typeof lag === 'number' &&
            lag < followsBytes,
        );
        const isWhole =
          follow.length === nodes.length - 1 && follow.some(({ role }) => role === 'sync_standby');
        timesWhole = isWhole ? timesWhole + 1 : 0;
        // A node that was cut off shows what it knew before for a moment.
        if (timesWhole === wholeTimes) return;
      }
      throw new Error(`the cluster is not whole within ${withinMs} ms: ${JSON.stringify(seen)}`);
    },
  };
}
