import { createHash } from 'node:crypto';

/**
 * A file of `server/sql`. Its first lines may say:
 *
 *     -- compatibleFrom: 0.1.0
 *     -- concurrent
 *     -- cells
 *
 * `compatibleFrom` is the oldest version of the program that works on the schema after this migration. During an update, and after a
 * rollback, such a program starts beside the newer schema. A file that says nothing only works with programs that contain it.
 *
 * `concurrent` marks a file that holds nothing but CREATE INDEX and DROP INDEX: they run one by one as … CONCURRENTLY, outside a
 * transaction, so that a large table stays writable meanwhile. The file itself omits the word, so that it also runs unchanged inside a
 * transaction on a schema that is not in use yet.
 *
 * `cells` marks a file about tables of accounts: it runs in the first cell with all others, and then in every other cell. After the baseline,
 * `0001_schema.sql`, a file is either about such tables or about the directory.
 */
export interface Migration {
  /** The file's name without `.sql`. */
  name: string;
  text: string;
}

export interface MigrationHeader {
  /** Version of the program; null: only programs that contain the file. */
  compatibleFrom: string | null;
  concurrent: boolean;
  cells: boolean;
}

export function headerOf({ name, text }: Migration): MigrationHeader {
  const header: MigrationHeader = { compatibleFrom: null, concurrent: false, cells: false };
  for (const line of text.split('\n')) {
    if (!line.startsWith('--')) break;
    const version = /^-- compatibleFrom:(.*)$/.exec(line)?.[1]?.trim();
    if (version !== undefined) {
      if (!/^\d+\.\d+\.\d+$/.test(version))
        throw new Error(`${name}.sql: compatibleFrom is a version such as 1.2.3`);
      header.compatibleFrom = version;
    }
    if (line === '-- concurrent') header.concurrent = true;
    if (line === '-- cells') header.cells = true;
  }
  return header;
}

export const sha256Of = ({ text }: Migration): string => createHash('sha256').update(text).digest('hex');

/** Whether version `a` is the same as `b` or newer. */
export function isAtLeast(a: string, b: string): boolean {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number)) as [number[], number[]];
  const differing = left.findIndex((part, index) => part !== right[index]);
  return differing < 0 || (left[differing] as number) > (right[differing] as number);
}

export type IndexStatement =
  | { action: 'create'; index: string; table: string; text: string }
  | { action: 'drop'; index: string; text: string };

/** The statements of a concurrent file, each with CONCURRENTLY. @throws Error for a statement that is not about an index */
export function indexStatementsOf(migration: Migration): IndexStatement[] {
  return statementsOf(migration).map((statement) => {
    const create = /^CREATE( UNIQUE)? INDEX (\w+) ON (\w+)/.exec(statement);
    if (create) {
      const [, unique = '', index = '', table = ''] = create;
      const text = statement.replace(
        /^CREATE( UNIQUE)? INDEX \w+/,
        `CREATE${unique} INDEX CONCURRENTLY ${index}`,
      );
      return { action: 'create', index, table, text };
    }
    const drop = /^DROP INDEX (\w+)$/.exec(statement)?.[1];
    if (drop) return { action: 'drop', index: drop, text: `DROP INDEX CONCURRENTLY IF EXISTS ${drop}` };
    throw new Error(`${migration.name}.sql is concurrent and may only create and drop indexes: ${statement}`);
  });
}

/** A literal, the body of a function, a comment, the end of a statement, or what stands between them. */
const parts = /'(?:[^']|'')*'|\$\$[\s\S]*?\$\$|--[^\n]*|;|[^'$;-]+|[\s\S]/g;

/** One after the other, without comments. */
export function statementsToRun({ text }: Migration): string[] {
  const statements = [''];
  for (const [part] of text.matchAll(parts)) {
    if (part === ';') statements.push('');
    else if (!part.startsWith('--')) statements[statements.length - 1] += part;
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '');
}

/** Each on one line. */
const statementsOf = (migration: Migration): string[] =>
  statementsToRun(migration).map((statement) => statement.replaceAll(/\s+/g, ' '));

export interface TableLock {
  table: string;
  /** As PostgreSQL names it. */
  mode: (typeof lockModes)[number];
  /** Writers wait while every row is read or an index is built: the longer, the more rows there are. */
  readsRows: boolean;
}

/** From the weakest. Up to ROW EXCLUSIVE the service reads and writes meanwhile. */
const lockModes = [
  'ROW EXCLUSIVE',
  'SHARE UPDATE EXCLUSIVE',
  'SHARE',
  'SHARE ROW EXCLUSIVE',
  'ACCESS EXCLUSIVE',
] as const;

/**
 * The locks on tables that exist before the migration, the strongest of each, in the order of first use: what an operator wants to know
 * before running it beside a busy service. `tableOfIndex` names the table of an index that is dropped.
 */
export function locksOf(migration: Migration, tableOfIndex: (index: string) => string | null): TableLock[] {
  const made = new Set<string>();
  const locks = new Map<string, TableLock['mode']>();
  const read = new Set<string>();
  const lock = (table: string | null | undefined, mode: TableLock['mode']): void => {
    if (!table || made.has(table)) return;
    const before = locks.get(table);
    if (before === undefined || lockModes.indexOf(before) < lockModes.indexOf(mode)) locks.set(table, mode);
  };
  const { concurrent } = headerOf(migration);
  for (const statement of statementsOf(migration)) {
    const table = (pattern: RegExp): string | undefined => pattern.exec(statement)?.[1];
    const created = table(/^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)/);
    if (created) made.add(created);
    const altered = table(/^ALTER TABLE (?:ONLY )?(\w+)/);
    lock(
      altered,
      / VALIDATE CONSTRAINT \w+$/.test(statement) ? 'SHARE UPDATE EXCLUSIVE' : 'ACCESS EXCLUSIVE',
    );
    if (altered && checksRows(statement)) read.add(altered);
    lock(table(/^DROP TABLE (?:IF EXISTS )?(\w+)/), 'ACCESS EXCLUSIVE');
    lock(table(/^TRUNCATE (?:TABLE )?(\w+)/), 'ACCESS EXCLUSIVE');
    const indexed = table(/^CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)/);
    lock(indexed, concurrent ? 'SHARE UPDATE EXCLUSIVE' : 'SHARE');
    if (indexed) read.add(indexed);
    const dropped = table(/^DROP INDEX (\w+)/);
    if (dropped) lock(tableOfIndex(dropped), concurrent ? 'SHARE UPDATE EXCLUSIVE' : 'ACCESS EXCLUSIVE');
    lock(table(/^CREATE (?:CONSTRAINT )?TRIGGER .*? ON (\w+)/), 'SHARE ROW EXCLUSIVE');
    lock(table(/^(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/), 'ROW EXCLUSIVE');
    if (!statement.startsWith('CREATE '))
      for (const [, from = ''] of statement.matchAll(/\b(?:FROM|JOIN|UPDATE) (\w+)/g)) read.add(from);
    if (/^(CREATE|ALTER) /.test(statement))
      for (const [, referenced] of statement.matchAll(/ REFERENCES (\w+)/g))
        lock(referenced, 'SHARE ROW EXCLUSIVE');
  }
  return [...locks].map(([name, mode]) => ({
    table: name,
    mode,
    readsRows: read.has(name) && lockModes.indexOf(mode) >= lockModes.indexOf('SHARE'),
  }));
}

/** Whether a change of a table looks at what its rows hold. A foreign key of a new column that is null everywhere does not. */
const checksRows = (change: string): boolean =>
  !change.endsWith(' NOT VALID') &&
  (/ (?:CHECK \(|UNIQUE\b|PRIMARY KEY|FOREIGN KEY|SET NOT NULL|VALIDATE CONSTRAINT|TYPE )/.test(change) ||
    (change.includes(' DEFAULT ') && change.includes(' REFERENCES ', change.indexOf(' DEFAULT '))));
