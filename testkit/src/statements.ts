import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Statement } from '../../server/src/ports/sql.ts';

/**
 * Every statement that the program keeps in its modules, by loading each of them with a line behind it that shows its constants. Most of them are known to
 * their module alone.
 *
 * Not in it: those of better-auth, whose texts are made as they are needed (`panel/auth/auth-store.ts`).
 *
 *   node testkit/src/statements.ts CELL
 */
export interface KeptStatement extends Statement {
  /** Below `server/src`. */
  file: string;
}

const source = join(import.meta.dirname, '../../server/src');

/** @param cell whose tables the statements name that say their schema */
export function keptStatements(cell: string): KeptStatement[] {
  const printed = execFileSync(process.execPath, [import.meta.filename, cell], { maxBuffer: 64 << 20 });
  return JSON.parse(printed.toString()) as KeptStatement[];
}

const mayKeep = (text: string): boolean =>
  /\bStatement\b|\b(?:defineTable|describeRows)\b|\btext: [`']/.test(text);
const startsSomething = (text: string): boolean => /import\.meta\.main|\bworkerData\b/.test(text);

const filesWith = (): string[] =>
  globSync('**/*.ts', { cwd: source, exclude: ['**/*.test.ts'] })
    .filter((file) => {
      const text = readFileSync(join(source, file), 'utf8');
      return mayKeep(text) && !startsSomething(text);
    })
    .sort();

const sealedColumnsFile = 'store/database/sealed-columns.ts';

/** Behind a module its constants are shown, and the statements that it makes for a cell. */
function shownBy(file: string, text: string, cell: string): string {
  const names = [...text.matchAll(/^(?:export )?const (\w+)\b/gm)].map(([, name]) => name);
  const made = [...text.matchAll(/^(?:export )?const (\w+) = \(\w+: string\): Statement =>/gm)].map(
    ([, name]) => `${name}(${JSON.stringify(cell)})`,
  );
  if (file === sealedColumnsFile)
    made.push(
      `sealedColumns.map((one) => statementsOf(one, directoryTables.includes(one.table) ? homeCell : ${JSON.stringify(cell)}))`,
    );
  return `\n;globalThis.shown?.(${JSON.stringify(file)}, [${[...names, ...made].join(', ')}]);\n`;
}

/** Statements that PostgreSQL plans: not `BEGIN`. */
const planned = /^\s*(?:--[^\n]*\n\s*)*(?:SELECT|WITH|INSERT|UPDATE|DELETE)\b/;

/** Statements in a value and in what it holds. */
function* statementsIn(value: unknown, depth = 0): Generator<Statement> {
  if (typeof value !== 'object' || value === null || depth > 3) return;
  const { name, text, of } = value as { name?: unknown; text?: unknown; of?: unknown };
  if (typeof name === 'string' && typeof text === 'string' && planned.test(text))
    yield { name: of === undefined ? name : `metric_${name}`, text };
  else for (const one of Object.values(value)) yield* statementsIn(one, depth + 1);
}

async function collect(cell: string): Promise<KeptStatement[]> {
  const found = new Map<string, KeptStatement>();
  const files = filesWith();
  const fileAt = new Map(files.map((file) => [pathToFileURL(join(source, file)).href, file]));
  Object.assign(globalThis, {
    shown: (file: string, values: unknown[]) => {
      for (const { name, text } of statementsIn(values)) found.set(`${name} ${text}`, { file, name, text });
    },
  });
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context);
      const file = fileAt.get(url);
      if (file === undefined) return loaded;
      const text = String(loaded.source);
      return { ...loaded, source: `${text}${shownBy(file, text, cell)}` };
    },
  });
  for (const file of files) await import(join(source, file));
  return [...found.values()];
}

if (import.meta.main) process.stdout.write(JSON.stringify(await collect(process.argv[2] ?? 'vintem')));
