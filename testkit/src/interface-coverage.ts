import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The interface, sentence by sentence, in `docs/interface-coverage.md`: number and sentence of each row are written by hand, and which tests show
 * it stands in their titles: `'is never overdrawn, however many withdraw at once [1.4a, 3d]'`. The third column is written from the titles:
 *
 *   node testkit/src/interface-coverage.ts --write
 */
const root = fileURLToPath(new URL('../../', import.meta.url));
const page = `${root}docs/interface-coverage.md`;

/** Every title of a test or a group that names sentences, by the number of the sentence. */
export function titlesBySentence(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const files = globSync('{server,simulator,proof,sdk,cli}/**/*.test.ts', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  for (const file of files.sort()) {
    const name = file.replace(/^server\/(?:test|src)\//, '').replace(/\.test\.ts$/, '');
    let group = '';
    for (const line of readFileSync(root + file, 'utf8').split('\n')) {
      group = /^describe\((['"`])(.*?)(?: \[[\d.a-z, –]+\])?\1/.exec(line)?.[2] ?? group;
      const [, , title, numbers] = /(['"`])((?:(?!\1).)+) \[(\d[\d.a-z, –]*)\]\1,/.exec(line) ?? [];
      if (!title || !numbers) continue;
      const inside = group && /^\s|^\)/.test(line) ? `${group}: ` : '';
      for (const number of numbers.split(', '))
        found.set(number, [...(found.get(number) ?? []), `[${name}](../${file}): ${inside}${title}`]);
    }
  }
  return found;
}

/** The rows of the page, by their numbers. */
export const sentences = (text: string): string[] =>
  [...text.matchAll(/^\| (\d[^ |]*) \|/gm)].map(([, number]) => number as string);

export const committedCoverage = (): string => readFileSync(page, 'utf8');

/** The page with the third column as the titles have it now. */
export function renderCoverage(text = committedCoverage(), shown = titlesBySentence()): string {
  const row = /^\| (\d[^ |]*) \| ((?:\\\||[^|])*) \|.*\|$/gm;
  return text.replace(row, (_, number: string, says: string) => {
    const titles = (shown.get(number) ?? []).map((title) => title.replaceAll('|', '\\|'));
    return `| ${number} | ${says} | ${titles.join('<br>')} |`;
  });
}

if (import.meta.main && process.argv[2] === '--write') writeFileSync(page, renderCoverage());
