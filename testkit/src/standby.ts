import pg from 'pg';

/** The driver's private members of a replication connection. */
interface Wire {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  once(event: 'replicationStart', listener: () => void): void;
  on(event: 'copyData', listener: (message: { chunk: Buffer }) => void): void;
}

/** A client that the server takes for a standby that receives its log. It has replayed all of it, until it gets stuck. */
export interface FakeStandby {
  /** Replays nothing from here on, and keeps saying so. */
  stick(): void;
  close(): Promise<void>;
}

const statusEveryMs = 200;

/**
 * The protocol of streaming replication (the chapter of that name in PostgreSQL's manual) without a database behind it: the embedded
 * binaries have no pg_basebackup, and the primary reports of a standby what that one says of itself.
 * @param url a superuser's
 * @param replays false: it only receives the log, as pg_receivewal does
 */
export async function openFakeStandby(
  url: string,
  name: string,
  { replays = true }: { replays?: boolean } = {},
): Promise<FakeStandby> {
  const options = { connectionString: url, application_name: name, replication: 'true' };
  const client = new pg.Client(options as pg.ClientConfig);
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query('IDENTIFY_SYSTEM');
  const wire = (client as unknown as { connection: Wire }).connection;
  const [high, low] = (rows[0].xlogpos as string).split('/').map((half) => BigInt(`0x${half}`));
  let received = ((high as bigint) << 32n) + (low as bigint);
  let replayed: bigint | null = null;
  wire.on('copyData', ({ chunk }) => {
    // `w`: start, end and time of what follows, then the log itself; `k`: the end alone.
    if (chunk[0] === 0x77) received = chunk.readBigUInt64BE(1) + BigInt(chunk.length - 25);
    else if (chunk[0] === 0x6b) received = chunk.readBigUInt64BE(1);
  });
  const started = new Promise<void>((done) => wire.once('replicationStart', done));
  wire.query(`START_REPLICATION PHYSICAL ${rows[0].xlogpos}`);
  await started;
  const timer = setInterval(() => {
    const status = Buffer.alloc(34);
    status[0] = 0x72;
    status.writeBigUInt64BE(received, 1);
    status.writeBigUInt64BE(received, 9);
    status.writeBigUInt64BE(replays ? (replayed ?? received) : 0n, 17);
    wire.sendCopyFromChunk(status);
  }, statusEveryMs);
  return {
    stick() {
      replayed ??= received;
    },
    async close() {
      clearInterval(timer);
      await client.end();
    },
  };
}
