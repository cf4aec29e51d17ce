import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Bank, type Entry, ready, restore, snapshot } from './bank.ts';

/**
 * The provider's truth on disk: one file, one line a change, each line a JSON array of entries that belong together.
 *
 * What one turn of the event loop changes is written with one call at its end, and only then are its answers sent: at
 * 4,000 payouts a second that is some hundred writes a second instead of 4,000. There is no fsync: the file has to
 * survive the death of every process, not that of the machine, and a provider that syncs each write would be what a
 * benchmark of its client measures.
 */
export type Journal = {
  /** Adds changes to the line that is written at the end of this turn. */
  append(entries: Entry[]): void;
  /** Calls back when everything that was appended so far is written: at once when nothing is waiting. */
  whenWritten(callback: () => void): void;
  /** Writes what is waiting and closes the file. */
  close(): void;
};

const fileName = 'journal.jsonl';
const chunkBytes = 4 * 1024 * 1024;

/** Reads the journal of a directory into the bank, compacts it when half of it is history, and opens it. */
export function openJournal(stateDir: string, bank: Bank): Journal {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const path = join(stateDir, fileName);
  let file = openSync(path, 'a+', 0o600);
  const { entries, bytes } = readEntries(file, (entry) => restore(bank, entry));
  ready(bank);
  // A torn last line was never answered to anybody. It must go, or the next line would be glued to it.
  ftruncateSync(file, bytes);
  let rows = 0;
  for (const _ of snapshot(bank)) rows++;
  if (entries > 2 * rows) {
    closeSync(file);
    writeSnapshot(path, bank);
    file = openSync(path, 'a', 0o600);
  }

  let lines: string[] = [];
  let callbacks: (() => void)[] = [];
  let scheduled = false;
  let closed = false;

  const flush = () => {
    scheduled = false;
    if (closed) return;
    if (lines.length > 0) {
      const text = lines.join('');
      lines = [];
      writeAll(file, text);
    }
    const called = callbacks;
    callbacks = [];
    for (const callback of called) callback();
  };

  return {
    append(entries) {
      if (entries.length === 0 || closed) return;
      lines.push(`${JSON.stringify(entries)}\n`);
      if (!scheduled) {
        scheduled = true;
        setImmediate(flush);
      }
    },
    whenWritten(callback) {
      if (lines.length === 0) callback();
      else callbacks.push(callback);
    },
    close() {
      if (closed) return;
      flush();
      closed = true;
      closeSync(file);
    },
  };
}

function readEntries(file: number, take: (entry: Entry) => void): { entries: number; bytes: number } {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  let rest: Buffer = Buffer.alloc(0);
  let entries = 0;
  let bytes = 0;
  let position = 0;
  for (;;) {
    const read = readSync(file, chunk, 0, chunkBytes, position);
    if (read === 0) return { entries, bytes };
    position += read;
    const data = Buffer.concat([rest, chunk.subarray(0, read)]);
    let start = 0;
    for (let end = data.indexOf(10, start); end !== -1; end = data.indexOf(10, start)) {
      for (const entry of JSON.parse(data.toString('utf8', start, end)) as Entry[]) {
        take(entry);
        entries++;
      }
      bytes += end + 1 - start;
      start = end + 1;
    }
    rest = data.subarray(start);
  }
}

function writeSnapshot(path: string, bank: Bank): void {
  const temporary = `${path}.new`;
  const file = openSync(temporary, 'w', 0o600);
  let lines: string[] = [];
  for (const entry of snapshot(bank)) {
    lines.push(`${JSON.stringify([entry])}\n`);
    if (lines.length === 5000) {
      writeAll(file, lines.join(''));
      lines = [];
    }
  }
  writeAll(file, lines.join(''));
  fsyncSync(file);
  closeSync(file);
  renameSync(temporary, path);
}

function writeAll(file: number, text: string): void {
  let data = Buffer.from(text, 'utf8');
  while (data.length > 0) data = data.subarray(writeSync(file, data));
}
