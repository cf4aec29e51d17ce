import type { Queries, Statement } from '../../ports/sql.ts';
import { rankOf, type Table, type WritePlace } from './table.ts';

/**
 * A table of the database, described once: from its columns are built, when the program starts, the select list and the statements that read,
 * insert, update and delete many rows by key.
 *
 * Rows are written from arrays that are unnested beside each other and not in FROM, where each array is stored and read again: 6 instead
 * of 11 µs a row before it is written. Citus also takes an INSERT in this form only.
 */

type SqlType =
  | 'uuid'
  | 'text'
  | 'bigint'
  | 'integer'
  | 'smallint'
  | 'boolean'
  | 'timestamptz'
  | 'date'
  | 'bytea'
  | 'jsonb';

/** `T` is what the program writes into it. */
class Column<in T> {
  readonly type: SqlType;
  readonly isNullable: boolean;
  /** Its values are sealed under the installation's secret (`sealed-columns.ts`). */
  readonly isSealed: boolean;
  /** `set`: by the insert alone. `later`: by updates alone, after its default. */
  readonly written: 'set' | 'changes' | 'later';
  /** Hardly a row has a value when it is inserted: it is null, or zero where it cannot be null. */
  readonly isRare: boolean;
  /** In the database, where that is not the program's name with underscores. */
  readonly name: string | null;
  declare readonly accepts?: (value: T) => void;

  constructor(
    type: SqlType,
    {
      isNullable = false,
      isSealed = false,
      isRare = false,
      written = 'set',
      name = null,
    }: Partial<Column<never>> = {},
  ) {
    this.type = type;
    this.isNullable = isNullable;
    this.isSealed = isSealed;
    this.isRare = isRare;
    this.written = written;
    this.name = name;
  }

  get orNull(): Column<T | null> {
    return new Column<T | null>(this.type, { ...this, isNullable: true });
  }
  /** Null in all but few new rows: where no row of an insert has a value of such a column, the statement goes without them. */
  get rare(): Column<T | null> {
    return new Column<T | null>(this.type, { ...this, isNullable: true, isRare: true });
  }
  /** The same of a number that is zero in all but few new rows. */
  get mostlyZero(): Column<T> {
    return new Column<T>(this.type, { ...this, isRare: true });
  }
  /** May change after the insert. */
  get changes(): Column<T> {
    return new Column<T>(this.type, { ...this, written: 'changes' });
  }
  /** Begins with its default in the database, and may change. */
  get later(): Column<T> {
    return new Column<T>(this.type, { ...this, written: 'later' });
  }
  named(name: string): Column<T> {
    return new Column<T>(this.type, { ...this, name });
  }
}

export const uuid = new Column<string>('uuid');
export const text = new Column<string>('text');
/** An amount of money. */
export const cents = new Column<number>('bigint');
export const bigint = new Column<number>('bigint');
export const integer = new Column<number>('integer');
export const smallint = new Column<number>('smallint');
export const boolean = new Column<boolean>('boolean');
/** In the program milliseconds since 1970. */
export const timestamptz = new Column<number>('timestamptz');
/** In the program `2026-11-21`. */
export const date = new Column<string>('date');
export const bytea = new Column<Buffer>('bytea');
export const sealed = new Column<Buffer>('bytea', { isSealed: true });
export const jsonb = new Column<object>('jsonb');

type Verb = 'read' | 'insert' | 'upsert' | 'update' | 'delete';

export interface Description<Row> {
  /** Of the statements, `<name>_insert`; of the table, where `table` says no other. */
  name: string;
  table?: string;
  /** In the select list. */
  alias: string;
  /** By which rows are read, changed and deleted, unique. */
  key: readonly (keyof Row & string)[];
  columns: { readonly [K in keyof Row]-?: Column<Row[K]> };
  /** The statements on its rows. `upsert`: an insert that changes the row with this key if there is one. */
  verbs: readonly Verb[];
  /** Other columns of an insert: SQL, or the value of a column. */
  also?: Readonly<Record<string, string | { as: keyof Row & string }>>;
  /** An insert leaves rows that are there as they are. */
  keepsFirst?: true;
}

/** The statements of a table, over rows. Each writes all its rows at once. */
export interface Rows<Row> {
  readonly description: Description<Row>;
  /** For a SELECT over the alias, with the program's names. */
  readonly columns: string;
  readonly statements: readonly Statement[];
  /** The values of the key behind each other: rows are written in this order. */
  keyOf(row: Row): string;
  read(tx: Queries, keys: readonly string[]): Promise<Row[]>;
  insert(tx: Queries, rows: readonly Row[]): Promise<unknown>;
  update(tx: Queries, rows: readonly Row[]): Promise<unknown>;
  /** The rows that a statement inserts, from its parameters; none for every other statement. */
  insertedBy(statement: Statement, values: readonly unknown[]): Row[];
  remove(tx: Queries, keys: readonly string[]): Promise<unknown>;
}

interface Named {
  /** In the program. */
  property: string;
  /** In the database. */
  name: string;
  column: Column<never>;
}

const underscored = (property: string): string =>
  property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** @throws Error where a statement is asked for that `verbs` does not name */
export function describeRows<Row extends object>(description: Description<Row>): Rows<Row> {
  const { name, alias, key, verbs } = description;
  const all = Object.entries<Column<never>>(description.columns).map(
    ([property, column]): Named => ({
      property,
      name: column.name ?? underscored(property),
      column,
    }),
  );
  const ofKey = key.map((property) => all.find((one) => one.property === property) as Named);
  const inserted = all.filter(({ column }) => column.written !== 'later');
  const rare = verbs.includes('insert') ? inserted.filter(({ column }) => column.isRare) : [];
  const common = inserted.filter((one) => !rare.includes(one));
  const changing = all.filter(({ column }) => column.written !== 'set');
  const ofUpdate = [...ofKey, ...changing];
  const columns = all.map((one) => selected(alias, one)).join(', ');
  const table = description.table ?? name;
  const keys = `unnest(${ofKey.map(array).join(', ')}) AS k (${names(ofKey)})`;
  const isOne = ofKey.map((one) => `${alias}.${one.name} = k.${one.name}`).join(' AND ');

  const insertOf = (written: readonly Named[]): string =>
    `${insertText(table, written, withZeros(description, inserted, written))}${description.keepsFirst ? ' ON CONFLICT DO NOTHING' : ''}`;
  const texts: Record<Verb, () => string> = {
    read: () => `SELECT ${columns} FROM ${table} ${alias} JOIN ${keys} USING (${names(ofKey)})`,
    insert: () => insertOf(inserted),
    upsert: () =>
      `${insertText(table, inserted, description)} ON CONFLICT (${names(ofKey)}) DO UPDATE SET ${changing.map((one) => `${one.name} = excluded.${one.name}`).join(', ')}`,
    update: () =>
      `UPDATE ${table} ${alias} SET ${changing.map((one) => `${one.name} = k.${one.name}`).join(', ')}
        FROM (SELECT ${ofUpdate.map((one, at) => `unnest(${array(one, at)}) AS ${one.name}`).join(', ')}) AS k
        WHERE ${isOne}`,
    delete: () => `DELETE FROM ${table} ${alias} USING ${keys} WHERE ${isOne}`,
  };
  const statements = new Map<Verb, Statement>();
  for (const verb of verbs) statements.set(verb, { name: `${name}_${verb}`, text: texts[verb]() });
  const insertCommon: Statement | null =
    rare.length === 0 ? null : { name: `${name}_insert_common`, text: insertOf(common) };
  const run = (tx: Queries, verb: Verb, values: unknown[]): Promise<unknown[]> => {
    const statement = statements.get(verb);
    if (statement === undefined) throw new Error(`rows of ${name} know no ${verb}`);
    return tx.run(statement, values);
  };
  const toPut = verbs.includes('upsert') ? 'upsert' : 'insert';
  const toInsert = gathererOf<Row>(inserted);
  const toInsertCommon = gathererOf<Row>(common);
  const hasRare = compiled<(rows: readonly Row[]) => boolean>('rows', hasAnyText(rare));
  const toUpdate = gathererOf<Row>(ofUpdate);
  return {
    description,
    columns,
    statements: [...statements.values(), ...(insertCommon ? [insertCommon] : [])],
    keyOf: compiled('row', `return ${keyText(ofKey)};`),
    read: (tx, keys) => run(tx, 'read', splitKeys(ofKey, keys)) as Promise<Row[]>,
    insert: (tx, rows) =>
      insertCommon && !hasRare(rows)
        ? tx.run(insertCommon, toInsertCommon(rows))
        : run(tx, toPut, toInsert(rows)),
    update: (tx, rows) => run(tx, 'update', toUpdate(rows)),
    insertedBy: (statement, values) => {
      if (statement === insertCommon) return rowsOf(common, values, rare);
      return statement === statements.get('insert') ? rowsOf(inserted, values, []) : [];
    },
    remove: (tx, keys) => run(tx, 'delete', splitKeys(ofKey, keys)),
  };
}

/** The place in the order of writes, where the table's name is none. */
type Placed = { name: WritePlace; place?: never } | { place: WritePlace };

/** A table that the till writes. @param tokenOf how a command's own rows are known */
export function defineTable<Row extends object>({
  tokenOf,
  place,
  ...description
}: Description<Row> & Placed & { tokenOf?: Table<Row>['tokenOf'] }): Table<Row> & Rows<Row> {
  const rows = describeRows<Row>(description);
  const { name, verbs } = description;
  return {
    ...rows,
    name,
    rank: rankOf(place ?? (name as WritePlace)),
    ...(tokenOf === undefined ? {} : { tokenOf }),
    write: (tx, { inserted, updated, deleted }) => {
      const written: Promise<unknown>[] = [];
      if (inserted.length > 0) written.push(rows.insert(tx, inserted));
      // Of a table whose rows never change, one that is there already says the same.
      if (updated.length > 0 && verbs.includes('update')) written.push(rows.update(tx, updated));
      if (deleted.length > 0) written.push(rows.remove(tx, deleted));
      return written;
    },
  };
}

const names = (columns: readonly Named[]): string => columns.map(({ name }) => name).join(', ');

/** The parameter of a column at a place of the statement. */
const array = ({ column }: Named, at: number): string => `$${at + 1}::${column.type}[]`;

function selected(alias: string, { property, name, column }: Named): string {
  const value = column.type === 'date' ? `to_char(${alias}.${name}, 'YYYY-MM-DD')` : `${alias}.${name}`;
  if (column.type === 'date' || property !== name)
    return `${value} AS ${/[A-Z]/.test(property) ? `"${property}"` : property}`;
  return value;
}

function insertText<Row>(
  table: string,
  columns: readonly Named[],
  { also = {} }: Pick<Description<Row>, 'also'>,
): string {
  const values = columns.map((one, at) => `unnest(${array(one, at)})`);
  const others = Object.values(also).map((value) =>
    typeof value === 'string' ? value : values[columns.findIndex(({ property }) => property === value.as)],
  );
  return `INSERT INTO ${table} (${[...columns.map(({ name }) => name), ...Object.keys(also)].join(', ')})
    VALUES (${[...values, ...others].join(', ')})`;
}

/**
 * A function of one argument, made of text when the program starts; the text holds the names of columns and nothing from outside. One closure for all
 * columns would read each by a name that it learns late, from rows of every shape, which V8 looks up in a table; code with the names in it reads fields.
 */
const compiled = <Made>(argument: string, body: string): Made => new Function(argument, body) as Made;

const valueText = ({ property }: Named): string => `row[${JSON.stringify(property)}]`;

/** Of many rows the parameters: for each column the values of all of them. */
const gathererOf = <Row>(columns: readonly Named[]): ((rows: readonly Row[]) => unknown[][]) =>
  compiled(
    'rows',
    `${columns.map((_, at) => `const c${at} = [];`).join('\n')}
    for (const row of rows) {
      ${columns.map((one, at) => `c${at}.push(${writtenText(one)});`).join('\n')}
    }
    return [${columns.map((_, at) => `c${at}`).join(', ')}];`,
  );

/** JSON goes as text: the driver would take an array for one of PostgreSQL. */
function writtenText(one: Named): string {
  const value = valueText(one);
  return one.column.type === 'jsonb' ? `${value} === null ? null : JSON.stringify(${value})` : value;
}

/** Whether any row has a value of one of the columns. */
const hasAnyText = (columns: readonly Named[]): string =>
  `for (const row of rows) if (${['false', ...columns.map((one) => `${valueText(one)} ${one.column.isNullable ? '!= null' : '!== 0'}`)].join(' || ')}) return true;
  return false;`;

/** Of an insert that goes without some columns: those that take no null are zero. */
const withZeros = <Row>(
  { also = {} }: Description<Row>,
  all: readonly Named[],
  written: readonly Named[],
): Pick<Description<Row>, 'also'> => {
  const zeros = all.filter((one) => !written.includes(one) && !one.column.isNullable);
  return { also: { ...also, ...Object.fromEntries(zeros.map(({ name }) => [name, '0'])) } };
};

/** @param without columns without a parameter */
function rowsOf<Row>(
  columns: readonly Named[],
  values: readonly unknown[],
  without: readonly Named[],
): Row[] {
  const lists = values as readonly (readonly unknown[])[];
  const absent = without.map(({ property, column }) => [property, column.isNullable ? null : 0]);
  return (lists[0] ?? []).map((_, row) =>
    Object.fromEntries([...absent, ...columns.map(({ property }, at) => [property, lists[at]?.[row]])]),
  );
}

/** The values of the key behind each other, as `splitKeys` reads them. */
const keyText = (ofKey: readonly Named[]): string =>
  ofKey
    .map((one, at) => `\`\${${valueText(one)}}${at < ofKey.length - 1 ? gapBehind(one) : ''}\``)
    .join(' + ');

/** How long the text of a value always is. */
const widths: Partial<Record<SqlType, number>> = { uuid: 36, date: 10 };

/** Between the value of a column and the one behind it in a key; no name has a space. */
const gapBehind = ({ column }: Named): string => (widths[column.type] === undefined ? ' ' : '');

/** By column the values of the keys. */
function splitKeys(columns: readonly Named[], keys: readonly string[]): string[][] {
  let rests = keys;
  return columns.map((one, at) => {
    const isLast = at === columns.length - 1;
    const endOf = (key: string): number =>
      isLast ? key.length : (widths[one.column.type] ?? key.indexOf(' '));
    const values = rests.map((key) => key.slice(0, endOf(key)));
    rests = rests.map((key) => key.slice(endOf(key) + gapBehind(one).length));
    return values;
  });
}
