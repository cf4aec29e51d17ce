import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Act, acts, operatorRoles } from '../../server/src/operate/acts.ts';

/**
 * The matrix role × act × approval of `docs/operators/console.md`, from the table of acts (`server/src/operate/acts.ts`):
 * `node testkit/src/acts-table.ts --write`.
 */

const page = join(import.meta.dirname, '../../docs/operators/console.md');
const begin = '<!-- acts: made from server/src/operate/acts.ts -->';
const end = '<!-- acts end -->';

const second: Record<Act['secondPerson'], string> = {
  never: '',
  with_money: 'above `OPERATOR_ALONE_CENTS`',
  always: 'yes',
};

const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ');

/** A row for each act: who may do it, whether a second person has to agree in the console, and its calls and commands. */
export function renderActs(): string {
  const heads = ['Act', ...operatorRoles, 'Second person', 'In the console', 'At the shell'];
  const rows = Object.entries<Act>(acts).map(([name, act]) => [
    `\`${name}\``,
    ...operatorRoles.map((role) => (act.roles.includes(role) ? 'yes' : '')),
    second[act.secondPerson],
    code(act.routes),
    code(act.commands),
  ]);
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The page with the table of this moment. @throws Error the page has no place for it */
export function withActs(text: string): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error('console.md has no place for the table of acts');
  return `${text.slice(0, from)}${begin}\n${renderActs()}\n${text.slice(to)}`;
}

export const consolePage = (): Promise<string> => readFile(page, 'utf8');

if (import.meta.main && process.argv[2] === '--write') await writeFile(page, withActs(await consolePage()));
