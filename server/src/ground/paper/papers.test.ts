import { textOfPdf } from '@vintem/testkit/pdf-text.ts';
import { expect, test } from 'vitest';
import type { Grid } from './grid.ts';
import { createPapers } from './papers.ts';
import { linesOf, type Table, type TableRow } from './table.ts';

const table: Table = {
  language: 'en',
  title: 'Statement',
  letterhead: null,
  page: 'Page',
  owner: 'Padaria · Main',
  period: 'From 01/11/2026 to 30/11/2026',
  warning: null,
  columns: {
    ...{ when: 'Date', what: 'Entry', document: 'Document' },
    ...{ debit: 'Debit', credit: 'Credit', balance: 'Balance' },
  },
  opening: { label: 'Opening balance', cents: 0 },
  closing: { label: 'Closing balance', cents: 0 },
  empty: 'No entries',
  sums: { in: 'In', out: 'Out', fees: 'Fees' },
};
const row: TableRow = {
  when: '21/11/2026 10:00',
  what: 'Pix received · Maria da Silva',
  document: '17',
  debitCents: 0,
  creditCents: 1000,
  balanceCents: 1000,
  figures: [['in', 1000]],
};

async function* pages(count: number): AsyncGenerator<TableRow[]> {
  for (let page = 0; page < count; page++) yield Array.from({ length: 500 }, () => row);
}

const wholeOf = async (file: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const parts: Uint8Array[] = [];
  for await (const part of file) parts.push(part);
  return Buffer.concat(parts);
};

test('A statement of 4,000 lines is drawn off the thread that serves requests', async () => {
  const papers = createPapers();
  // Reading the program is not the work that is measured.
  await wholeOf(await papers.table('a', table, pages(1)));
  const [own, all] = [process.threadCpuUsage(), process.cpuUsage()];
  const file = await wholeOf(await papers.table('a', table, pages(8)));
  const [ownUsed, allUsed] = [process.threadCpuUsage(own), process.cpuUsage(all)];
  expect(file.subarray(0, 5).toString()).toBe('%PDF-');
  expect(file.subarray(-8).toString()).toContain('%%EOF');
  const share = (ownUsed.user + ownUsed.system) / (allUsed.user + allUsed.system);
  expect(share).toBeLessThan(0.4);
  await papers.stop();
});

test('An account draws three files at once and a fourth is refused; the file that is given up makes room', async () => {
  const papers = createPapers();
  const held = await Promise.all([1, 2, 3].map(() => papers.table('a', table, pages(2))));
  await expect(papers.table('a', table, pages(1))).rejects.toMatchObject({
    code: 'too_many_concurrent_requests',
    options: { retryAfterSeconds: 2 },
  });
  const other = await wholeOf(await papers.table('b', table, pages(1)));
  expect(other.length).toBeGreaterThan(1000);
  const first = held[0];
  const closed = new Promise((done) => first?.once('close', done));
  first?.destroy();
  await closed;
  await wholeOf(await papers.table('a', table, pages(1)));
  for (const file of held) file.destroy();
  await papers.stop();
});

test('A file that cannot be drawn ends with its error and breaks no other', async () => {
  const papers = createPapers();
  const broken = { ...table, columns: null } as unknown as Table;
  const [bad, good] = await Promise.all([
    papers.table('a', broken, pages(1)),
    papers.table('b', table, pages(1)),
  ]);
  await expect(wholeOf(bad)).rejects.toThrow();
  expect((await wholeOf(good)).length).toBeGreaterThan(1000);
  await papers.stop();
});

test('Each page says its number and how many there are, which only the last page knows', async () => {
  const papers = createPapers();
  const text = textOfPdf(await wholeOf(await papers.table('a', table, pages(1))));
  const numbers = [...text.matchAll(/^Page (\d+)\/$/gm)].map(([, number]) => Number(number));
  expect(numbers.length).toBeGreaterThan(5);
  expect(numbers).toEqual(numbers.map((_number, at) => at + 1));
  // The form that every page shows.
  expect(text).toMatch(new RegExp(`^${numbers.length}$`, 'm'));
  await papers.stop();
});

test('A long description stands whole on its row, in lines that are no wider than its column', async () => {
  const papers = createPapers();
  const description = `${'Farinha de trigo integral para o mês '.repeat(6)}${'x'.repeat(150)} fim`;
  async function* one(): AsyncGenerator<TableRow[]> {
    yield [{ ...row, what: description }];
  }
  const text = textOfPdf(await wholeOf(await papers.table('a', table, one())));
  expect(text).not.toContain('…');
  expect(text.replaceAll(/\s/g, '')).toContain(description.replaceAll(' ', ''));
  const ruler = { widthOfString: (part: string) => part.length };
  const lines = linesOf(ruler, description, 40);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
  expect(lines.join('').replaceAll(' ', '')).toBe(description.replaceAll(' ', ''));
  await papers.stop();
});

test('A grid continues on further pages, each with its columns and its number', async () => {
  const papers = createPapers();
  const { language, letterhead, page, owner, period, warning, empty } = table;
  const cells = ['01/11/2026', '0,00', '1,00'];
  const rows = Array.from({ length: 40 }, () => ({ cells, strong: false }));
  const grid: Grid = {
    ...{ language, letterhead, page, owner, period, warning, empty },
    title: 'Closes',
    columns: ['Day', 'Opening', 'Closing'],
    groups: [1, 2, 3].map((at) => ({ title: `Operation ${at}`, rows })),
  };
  const text = textOfPdf(await papers.grid('a', grid));
  expect(text.match(/^Page \d\/$/gm)).toEqual(['Page 1/', 'Page 2/', 'Page 3/']);
  expect(text.match(/^Opening$/gm)).toHaveLength(3);
  expect(text.match(/^01\/11\/2026$/gm)).toHaveLength(120);
  expect(textOfPdf(await papers.grid('a', { ...grid, groups: [] }))).toContain('No entries');
  await papers.stop();
});
