import { createHash } from 'node:crypto';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { exists, syncFolder } from './binaries.ts';

/**
 * The file of a backup: a line that names it, one Zstandard stream of blocks, and the SHA-256 of everything before it.
 *
 *     vintem backup 1\n │ zstd( block … ) │ 32 bytes
 *
 * A block is its kind (one byte), its length (four bytes, big-endian) and its content. In this order: `H` the header; for each
 * table `T` its name and columns, `D` its rows as PostgreSQL's COPY writes them (text, so that the copy of one version is read
 * by the next), `E` its rows counted and their SHA-256; at the end `F`. `zstd -d` and a pager show it all to a person.
 */
export interface Header {
  /** RFC 3339. Everything that was committed by then is in the copy. */
  createdAt: string;
  /** What had been applied, in order. */
  migrations: { name: string; sha256: string }[];
  /** Names of the secrets under which its API keys were made; never the secrets. */
  secretIds: string[];
  /** Tables that are not in it, each with the reason. */
  leftOut: Record<string, string>;
}

export interface TableStart {
  name: string;
  columns: string[];
}

export interface TableEnd {
  rows: number;
  /** Of its rows as they stand in the copy, in hex. */
  sha256: string;
}

export type Block =
  | { kind: 'header'; header: Header }
  | { kind: 'table'; table: TableStart }
  | { kind: 'rows'; rows: Buffer }
  | { kind: 'tableEnd'; end: TableEnd }
  | { kind: 'end' };

export interface WrittenFile {
  bytes: number;
  /** Of the whole file but its last 32 bytes, in hex. */
  sha256: string;
}

const format = 1;
const title = `vintem backup ${format}\n`;
const digestBytes = 32;
const blockHeadBytes = 5;
const readBytes = 256 * 1024;
/** What is longer was not written by `backup`. */
const blockMostBytes = 64 * 1024 * 1024;

/**
 * Writes the file beside its place, brings it to disk, and only then gives it its name: under that name it is whole. Readable
 * by its owner alone.
 * @throws Error when something of that name exists: one copy never takes the place of another
 */
export async function writeBackupFile(file: string, blocks: AsyncIterable<Block>): Promise<WrittenFile> {
  const taken = `${file} exists already`;
  if (await exists(file)) throw new Error(taken);
  const part = `${file}.part`;
  await rm(part, { force: true });
  const handle = await open(part, 'wx', 0o600);
  let done = false;
  try {
    const { ino } = await handle.stat();
    let sha256 = '';
    await pipeline(
      encoded(blocks),
      // Level 1 takes 2.7 ms of CPU for a megabyte, level 3 7.3, gzip's level 1 9.9, and none is smaller. The service needs them.
      createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
      async function* framed(source: AsyncIterable<Buffer>) {
        const hash = createHash('sha256').update(title);
        yield Buffer.from(title);
        for await (const chunk of source) {
          hash.update(chunk);
          yield chunk;
        }
        const digest = hash.digest();
        sha256 = digest.toString('hex');
        yield digest;
      },
      // Brought to disk before it is closed.
      handle.createWriteStream({ flush: true }),
    );
    const written = await stat(part);
    // Another backup of the same name at the same time has taken ours away.
    if (written.ino !== ino) throw new Error(`${part} was written by two at once`);
    if (await exists(file)) throw new Error(taken);
    await rename(part, file);
    await syncFolder(dirname(resolve(file)));
    done = true;
    return { bytes: written.size, sha256 };
  } finally {
    await handle.close().catch(() => {});
    if (!done) await rm(part, { force: true });
  }
}

/** A file that is whole. */
export interface BackupFile {
  sha256: string;
  /** From the beginning, each time. */
  blocks(): AsyncGenerator<Block>;
  close(): Promise<void>;
}

/**
 * Opens a copy and reads it once from end to end, so that nothing is done with one that is not whole.
 * @throws Error when it is no backup, of a newer format, cut short or changed
 */
export async function openBackupFile(file: string): Promise<BackupFile> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? `${file}: there is no such file` : error.message);
  });
  try {
    const info = await handle.stat();
    if (!info.isFile()) throw new Error(`${file} is no file`);
    await checkTitle(handle, file);
    const contentEnd = info.size - digestBytes;
    const damaged = `${file} is damaged or cut short: its checksum does not match what it holds`;
    if (contentEnd < title.length) throw new Error(damaged);
    const hash = createHash('sha256');
    for await (const chunk of reading(handle, 0, contentEnd)) hash.update(chunk);
    const digest = Buffer.alloc(digestBytes);
    await handle.read(digest, 0, digestBytes, contentEnd);
    if (!hash.digest().equals(digest)) throw new Error(damaged);
    return {
      sha256: digest.toString('hex'),
      blocks: () => decoded(handle, contentEnd),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function checkTitle(handle: FileHandle, file: string): Promise<void> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(40), 0, 40, 0);
  const found = /^vintem backup (\d{1,9})\n/.exec(buffer.toString('latin1', 0, bytesRead));
  if (!found) throw new Error(`${file} is no backup of vintem`);
  if (Number(found[1]) !== format) {
    throw new Error(
      `${file} is a backup of format ${found[1]}, which this vintem does not read (it reads ${format})`,
    );
  }
}

/** The bytes from `start` up to `end`, which is not among them. (A stream would keep the handle from ever being closed.) */
async function* reading(handle: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end; ) {
    const wanted = Math.min(readBytes, end - at);
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted, at);
    if (bytesRead === 0) throw new Error('the backup was cut short while it was read');
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

async function* encoded(blocks: AsyncIterable<Block>): AsyncGenerator<Buffer> {
  for await (const block of blocks) {
    switch (block.kind) {
      case 'header':
        yield* blockOf('H', json(block.header));
        break;
      case 'table':
        yield* blockOf('T', json(block.table));
        break;
      case 'rows':
        yield* blockOf('D', block.rows);
        break;
      case 'tableEnd':
        yield* blockOf('E', json(block.end));
        break;
      case 'end':
        yield* blockOf('F', Buffer.alloc(0));
        break;
    }
  }
}

function* blockOf(kind: string, content: Buffer): Generator<Buffer> {
  const head = Buffer.alloc(blockHeadBytes);
  head.write(kind, 0, 'latin1');
  head.writeUInt32BE(content.length, 1);
  yield head;
  yield content;
}

/** Counts and sums the rows of a table on their way. */
export function rowSum(): { add(rows: Buffer): void; end(): TableEnd } {
  const hash = createHash('sha256');
  let rows = 0;
  return {
    add: (block) => {
      hash.update(block);
      // A line break within a value is written as `\\n`, so every byte of it ends a row.
      for (let at = block.indexOf(10); at !== -1; at = block.indexOf(10, at + 1)) rows++;
    },
    end: () => ({ rows, sha256: hash.digest('hex') }),
  };
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

async function* decoded(handle: FileHandle, contentEnd: number): AsyncGenerator<Block> {
  const plain = createZstdDecompress({ chunkSize: readBytes });
  const piped = pipeline(reading(handle, title.length, contentEnd), plain);
  // Told through `plain`, which the loop below reads.
  piped.catch(() => {});
  let kept: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of plain as AsyncIterable<Buffer>) {
      kept = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
      while (kept.length >= blockHeadBytes) {
        const length = kept.readUInt32BE(1);
        if (length > blockMostBytes) throw new Error('a block of the backup is too long');
        const end = blockHeadBytes + length;
        if (kept.length < end) break;
        yield blockFrom(kept.toString('latin1', 0, 1), kept.subarray(blockHeadBytes, end));
        kept = kept.subarray(end);
      }
    }
    if (kept.length > 0) throw new Error('the backup ends within a block');
  } finally {
    plain.destroy();
    await piped.catch(() => {});
  }
}

function blockFrom(kind: string, content: Buffer): Block {
  switch (kind) {
    case 'H':
      return { kind: 'header', header: JSON.parse(content.toString()) as Header };
    case 'T':
      return { kind: 'table', table: JSON.parse(content.toString()) as TableStart };
    case 'D':
      return { kind: 'rows', rows: content };
    case 'E':
      return { kind: 'tableEnd', end: JSON.parse(content.toString()) as TableEnd };
    case 'F':
      return { kind: 'end' };
    default:
      throw new Error(`the backup holds a block of an unknown kind (${kind})`);
  }
}
