import { readFile } from 'node:fs/promises';

/** The whole page. */
export const page = await readFile(new URL('../../contract/outside.md', import.meta.url), 'utf8');

/** The rows of the tables of contract/outside.md whose head begins with this word, each as its cells. */
export function tableRows(head: string): string[][] {
  const rows: string[][] = [];
  let inside = false;
  for (const line of page.split('\n')) {
    if (!line.startsWith('|')) inside = false;
    else if (inside && !line.startsWith('|---')) rows.push(cellsOf(line));
    else if (cellsOf(line)[0]?.startsWith(head)) inside = true;
  }
  return rows;
}

const cellsOf = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

/** The names in backticks in a cell. */
export const quoted = (cell: string): string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text as string);
