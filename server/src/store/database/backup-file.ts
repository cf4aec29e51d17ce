import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { exists, syncFolder } from '../../ground/durable-files.ts';

/**
 * The file of a backup: a line that names it, one Zstandard stream of blocks, encrypted, and the SHA-256 of everything before it.
 *
 *     vintem backup 2\n │ 4 bytes: id of the secret │ 32 bytes: salt │ chunk … │ 32 bytes
 *
 * The database holds names, e-mail addresses and hashes of passwords in the clear, so the whole stream is encrypted under a key that
 * is derived from the installation's secret and the salt. A chunk is the length of what follows (four bytes, big-endian) and
 * AES-256-GCM of at most 64 KiB of the stream with its tag. Its nonce counts the chunks, and its last byte is 1 for the last
 * chunk, so that none can be left out, moved or cut off (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár, 2015).
 *
 * A block is its kind (one byte), its length (four bytes, big-endian) and its content. In this order: `H` the header; for each
 * table `T` its name and columns, `D` its rows as PostgreSQL's COPY writes them (text, so that the copy of one version is read
 * by the next), `E` its rows counted and their SHA-256; at the end `F`.
 */
export interface Header {
  /** RFC 3339. Everything that was committed by then is in the copy. */
  createdAt: string;
  /** The applied migrations, in order. */
  migrations: { name: string; sha256: string }[];
  /** Names of the secrets under which its API keys were made; never the secrets. */
  secretIds: string[];
  /** Schemas of the cells beside the first; absent in copies from before there were any. */
  cells?: string[];
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

const title = 'vintem backup 2\n';
const idBytes = 4;
const saltBytes = 32;
const startBytes = title.length + idBytes + saltBytes;
const chunkBytes = 64 * 1024;
const tagBytes = 16;
const lengthBytes = 4;
const digestBytes = 32;
const blockHeadBytes = 5;
const readBytes = 256 * 1024;
/** A longer part was not written by `backup`. */
const blockMostBytes = 64 * 1024 * 1024;

/**
 * Writes the file beside its place, brings it to disk, and only then gives it its name: under that name it is whole. Readable
 * by its owner alone.
 * @throws Error when something of that name exists: one copy never takes the place of another
 */
export async function writeBackupFile(
  file: string,
  blocks: AsyncIterable<Block>,
  { secretId, salt, key }: Sealing,
): Promise<WrittenFile> {
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
        const start = Buffer.concat([Buffer.from(title), Buffer.from(secretId, 'hex'), salt]);
        const hash = createHash('sha256').update(start);
        yield start;
        for await (const chunk of encrypted(source, key, start)) {
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

/** Under what a file is encrypted. */
export interface Sealing {
  /** Of the secret, in hex. */
  secretId: string;
  /** 32 random bytes of this file. */
  salt: Buffer;
  /** 32 bytes, derived from the secret and the salt: used for this file alone. */
  key: Buffer;
}

/** The purpose under which the key of a file is derived from the secret. */
export const purposeOfBackup = (salt: Buffer): string => `backup ${salt.toString('hex')}`;

/** A file that is whole. */
export interface BackupFile {
  sha256: string;
  /** Under what it is encrypted. */
  sealedUnder: { secretId: string; salt: Buffer };
  /** From the beginning, each time. */
  blocks(key: Buffer): AsyncGenerator<Block>;
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
    const start = await readStart(handle, file);
    const contentEnd = info.size - digestBytes;
    const damaged = `${file} is damaged or cut short: its checksum does not match what it holds`;
    if (contentEnd < start.bytes.length) throw new Error(damaged);
    const hash = createHash('sha256');
    for await (const chunk of reading(handle, 0, contentEnd)) hash.update(chunk);
    const digest = Buffer.alloc(digestBytes);
    await handle.read(digest, 0, digestBytes, contentEnd);
    if (!hash.digest().equals(digest)) throw new Error(damaged);
    return {
      sha256: digest.toString('hex'),
      sealedUnder: start.sealedUnder,
      blocks: (key) => decoded(compressedOf(handle, start, contentEnd, key)),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

interface Start {
  /** Everything before the content. */
  bytes: Buffer;
  sealedUnder: BackupFile['sealedUnder'];
}

async function readStart(handle: FileHandle, file: string): Promise<Start> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(startBytes), 0, startBytes, 0);
  const found = /^vintem backup (\d{1,9})\n/.exec(buffer.toString('latin1', 0, bytesRead));
  if (!found) throw new Error(`${file} is no backup of vintem`);
  if (found[0] !== title) {
    throw new Error(
      `${file} is a backup of format ${found[1]}, which this vintem does not read (it reads 2)`,
    );
  }
  const salt = buffer.subarray(title.length + idBytes);
  const secretId = buffer.toString('hex', title.length, title.length + idBytes);
  return { bytes: buffer, sealedUnder: { secretId, salt } };
}

function nonceOf(place: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(place, 7);
  nonce.writeUInt8(last ? 1 : 0, 11);
  return nonce;
}

/** The stream in chunks, each with its length. @param start is authenticated with each of them */
async function* encrypted(source: AsyncIterable<Buffer>, key: Buffer, start: Buffer): AsyncGenerator<Buffer> {
  let place = 0;
  const chunkOf = (plain: Buffer, last: boolean): Buffer => {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(place++, last)).setAAD(start);
    const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt32BE(sealed.length);
    return Buffer.concat([length, sealed]);
  };
  let kept: Buffer = Buffer.alloc(0);
  for await (const part of source) {
    kept = Buffer.concat([kept, part]);
    while (kept.length > chunkBytes) {
      yield chunkOf(kept.subarray(0, chunkBytes), false);
      kept = kept.subarray(chunkBytes);
    }
  }
  yield chunkOf(kept, true);
}

/** The Zstandard stream of a file. @throws Error when a chunk was changed, moved or left out */
async function* compressedOf(
  handle: FileHandle,
  { bytes: start }: Start,
  contentEnd: number,
  key: Buffer,
): AsyncGenerator<Buffer> {
  const content = reading(handle, start.length, contentEnd);
  let place = 0;
  let left = contentEnd - start.length;
  let kept: Buffer = Buffer.alloc(0);
  for await (const part of content) {
    kept = Buffer.concat([kept, part]);
    while (kept.length >= lengthBytes) {
      const length = kept.readUInt32BE(0);
      if (length < tagBytes || length > chunkBytes + tagBytes)
        throw new Error('a chunk of the backup has no valid length');
      const end = lengthBytes + length;
      if (kept.length < end) break;
      left -= end;
      const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(place++, left === 0)).setAAD(start);
      decipher.setAuthTag(kept.subarray(end - tagBytes, end));
      const plain = decipher.update(kept.subarray(lengthBytes, end - tagBytes));
      decipher.final();
      yield plain;
      kept = kept.subarray(end);
    }
  }
  if (left !== 0) throw new Error('the backup ends within a chunk');
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

async function* decoded(compressed: AsyncGenerator<Buffer>): AsyncGenerator<Block> {
  const plain = createZstdDecompress({ chunkSize: readBytes });
  const piped = pipeline(compressed, plain);
  // Reported through `plain`, which the loop below reads.
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
