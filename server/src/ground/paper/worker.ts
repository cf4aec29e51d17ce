import { type MessagePort, parentPort } from 'node:worker_threads';
import { drawGrid, type Grid } from './grid.ts';
import type { Page } from './pdf.ts';
import { drawPoster, type Poster } from './poster.ts';
import { drawSheet, type Sheet } from './sheet.ts';
import { beginTable, type DrawnTable, type Table, type TableRow } from './table.ts';

/** To the thread: of a document by its number. A sheet, a poster and a grid are drawn at once; a table begins, gets its rows and ends. */
export type DrawMessage =
  | { sheet: Sheet }
  | { poster: Poster }
  | { grid: Grid }
  | { table: Table }
  | { rows: readonly TableRow[] }
  | { end: true }
  | { givenUp: true };

/** The pages drawn since the last answer. */
export interface Drawn {
  parts: Uint8Array[];
  ended: boolean;
  /** Why the document cannot be drawn. */
  failed?: string;
}

/** The body of the thread that `papers.ts` starts. */
const port = parentPort as MessagePort;

interface Document {
  table: DrawnTable;
  parts: Uint8Array[];
}

const open = new Map<number, Document>();
/** Messages of all documents, one after the other: each is some milliseconds. */
let last: Promise<void> = Promise.resolve();

port.on('message', ({ id, message }: { id: number; message: DrawMessage }) => {
  last = last
    .then(() => draw(id, message))
    .catch((error: Error) => {
      open.delete(id);
      port.postMessage({ id, parts: [], ended: true, failed: error.message } satisfies Drawn & {
        id: number;
      });
    });
});

async function draw(id: number, message: DrawMessage): Promise<void> {
  if ('givenUp' in message) return void open.delete(id);
  if ('sheet' in message) return answer(id, await endOf(await drawSheet(message.sheet)), true);
  if ('poster' in message) return answer(id, await endOf(await drawPoster(message.poster)), true);
  if ('grid' in message) return answer(id, await endOf(await drawGrid(message.grid)), true);
  if ('table' in message) {
    const table = await beginTable(message.table);
    const parts: Uint8Array[] = [];
    table.page.on('data', (part: Uint8Array) => parts.push(part));
    open.set(id, { table, parts });
    return;
  }
  const document = open.get(id);
  if (!document) return;
  const { table, parts } = document;
  if ('rows' in message) {
    table.rows(message.rows);
    return answer(id, parts.splice(0), false);
  }
  const ended = new Promise<void>((resolve) => table.page.once('end', () => resolve()));
  table.end();
  await ended;
  open.delete(id);
  answer(id, parts.splice(0), true);
}

function endOf(page: Page): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = [];
  return new Promise((resolve, reject) => {
    page.on('data', (part: Uint8Array) => parts.push(part));
    page.on('end', () => resolve(parts));
    page.on('error', reject);
  });
}

function answer(id: number, parts: Uint8Array[], ended: boolean): void {
  port.postMessage({ id, parts, ended } satisfies Drawn & { id: number });
}
