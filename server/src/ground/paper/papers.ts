import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { Worker as Thread } from 'node:worker_threads';
import { createPlaces } from '../places.ts';
import { startThread } from '../thread.ts';
import type { Grid } from './grid.ts';
import type { Poster } from './poster.ts';
import type { Sheet } from './sheet.ts';
import type { Table, TableRow } from './table.ts';
import type { DrawMessage, Drawn } from './worker.ts';

/**
 * Files that cost: a page of a PDF is 20 ms of work, a statement of a busy month 12 s. PDF are drawn on a thread of their own, one for the
 * process, which begins with the first and holds 60 MB from then on. Text is written a page at a time, two pages at once. Each account
 * has a share, so one that asks for many waits for itself.
 *
 * Without this eight statements at once took the event loop from every merchant: charges 37 → 3,612 ms.
 */
export interface Papers {
  /** One page. @throws ApiError `too_many_concurrent_requests`, `overloaded`, both with `Retry-After` */
  sheet(accountId: string, sheet: Sheet): Promise<Buffer>;
  /** One page. @throws as `sheet` */
  poster(accountId: string, poster: Poster): Promise<Buffer>;
  /** Some pages. @throws as `sheet` */
  grid(accountId: string, grid: Grid): Promise<Buffer>;
  /** Sent while it is drawn. @throws as `sheet` */
  table(accountId: string, table: Table, pages: AsyncGenerator<readonly TableRow[]>): Promise<Readable>;
  /** A text, a page of it at a time. The first page is made before this returns: what it is refused for is an answer. @throws as `sheet` */
  text(accountId: string, pages: AsyncGenerator<string>): Promise<Readable>;
  stop(): Promise<void>;
}

const drawings = { atOnce: 8, waiting: 16, perOwner: 3 };
const texts = { atOnce: 64, waiting: 0, perOwner: 8 };
const pagesOfTexts = { atOnce: 2, waiting: texts.atOnce, perOwner: texts.atOnce };

export function createPapers(): Papers {
  const drawingPlaces = createPlaces(drawings);
  const textPlaces = createPlaces(texts);
  const pagePlaces = createPlaces(pagesOfTexts);
  const thread = lateThread();

  const drawPage = (accountId: string, message: DrawMessage): Promise<Buffer> =>
    drawingPlaces.run(accountId, async () => {
      const drawing = thread.open();
      drawing.tell(message);
      const parts: Uint8Array[] = [];
      for await (const { parts: more } of drawing.answers()) parts.push(...more);
      return Buffer.concat(parts);
    });

  return {
    sheet: (accountId, sheet) => drawPage(accountId, { sheet }),
    poster: (accountId, poster) => drawPage(accountId, { poster }),
    grid: (accountId, grid) => drawPage(accountId, { grid }),
    table: async (accountId, table, pages) => {
      const leave = await drawingPlaces.take(accountId);
      return readableOf(drawTable(thread.open(), table, pages), leave);
    },
    text: async (accountId, pages) => {
      const leave = await textPlaces.take(accountId);
      const next = () => pagePlaces.run(accountId, () => pages.next());
      const first = await next().catch((error: unknown) => {
        leave();
        throw error;
      });
      return readableOf(textOf(first, next), () => {
        leave();
        void pages.return(undefined);
      });
    },
    stop: thread.stop,
  };
}

async function* drawTable(
  drawing: Drawing,
  table: Table,
  pages: AsyncGenerator<readonly TableRow[]>,
): AsyncGenerator<Uint8Array> {
  const answers = drawing.answers();
  try {
    drawing.tell({ table });
    for await (const rows of pages) {
      drawing.tell({ rows });
      // One page is under way at a time: nothing piles up in the thread, and others' pages come in between.
      const drawn = await answers.next();
      if (!drawn.done) yield* drawn.value.parts;
    }
    drawing.tell({ end: true });
    for await (const { parts } of answers) yield* parts;
  } finally {
    drawing.close();
  }
}

async function* textOf(
  first: IteratorResult<string>,
  next: () => Promise<IteratorResult<string>>,
): AsyncGenerator<string> {
  for (let page = first; !page.done; page = await next()) yield page.value;
}

/** `ended` is called once, however the stream ends. */
function readableOf(parts: AsyncGenerator<string | Uint8Array>, ended: () => void): Readable {
  const file = Readable.from(parts, { objectMode: false });
  file.once('close', ended);
  return file;
}

interface Drawing {
  tell(message: DrawMessage): void;
  /** One for each message, until the document has ended. Of one that began with `sheet`, `poster` or `grid`, one answer. */
  answers(): AsyncGenerator<Drawn>;
  /** Given up: the thread forgets it. */
  close(): void;
}

function lateThread(): { open(): Drawing; stop(): Promise<void> } {
  let thread: Thread | undefined;
  let made = 0;
  const waiting = new Map<number, { answers: (Drawn | Error)[]; wake: () => void }>();

  function fail(error: Error): void {
    thread = undefined;
    for (const one of waiting.values()) {
      one.answers.push(error);
      one.wake();
    }
  }

  function started(): Thread {
    if (thread) return thread;
    const begun = startThread(new URL('./worker.ts', import.meta.url));
    begun.on('message', ({ id, ...drawn }: Drawn & { id: number }) => {
      const one = waiting.get(id);
      one?.answers.push(drawn.failed === undefined ? drawn : new Error(drawn.failed));
      one?.wake();
    });
    // A document that breaks the thread breaks the documents of that moment; the next one begins another.
    begun.on('error', fail);
    begun.on('exit', () => {
      if (thread === begun) fail(new Error('the thread that draws has ended'));
    });
    // It ends with the process and keeps it from nothing.
    begun.unref();
    thread = begun;
    return begun;
  }

  function open(): Drawing {
    const id = ++made;
    const own = { answers: [] as (Drawn | Error)[], wake: () => {} };
    waiting.set(id, own);
    const worker = started();
    const close = (): void => {
      if (waiting.delete(id)) worker.postMessage({ id, message: { givenUp: true } });
    };
    return {
      tell: (message) => worker.postMessage({ id, message }),
      close,
      async *answers() {
        try {
          for (;;) {
            const answer = own.answers.shift();
            if (answer instanceof Error) throw answer;
            if (answer) {
              yield answer;
              if (answer.ended) return;
            } else
              await new Promise<void>((wake) => {
                own.wake = wake;
              });
          }
        } finally {
          close();
        }
      },
    };
  }

  return {
    open,
    stop: async () => {
      const running = thread;
      thread = undefined;
      if (!running) return;
      const exited = once(running, 'exit');
      await running.terminate();
      await exited;
    },
  };
}
