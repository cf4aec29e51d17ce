/** Answers go to standard output, everything else to standard error. */
export interface Output {
  json: boolean;
  /** The answer: one JSON document with `--json`, otherwise a text. */
  answer(value: unknown, text: string): void;
  /** One of many answers that come one by one: a line of JSON with `--json`, otherwise a text. */
  line(value: unknown, text: string): void;
  /** A remark for people. */
  note(text: string): void;
  /** Shows, after one second, that `work` is still running. */
  progress<Result>(what: string, work: Promise<Result>): Promise<Result>;
}

type Stream = Pick<NodeJS.WriteStream, 'write' | 'isTTY'>;

export function outputTo(stdout: Stream, stderr: Stream, json: boolean): Output {
  const print = (value: unknown, text: string): void =>
    void stdout.write(json ? `${JSON.stringify(value)}\n` : `${text}\n`);
  return {
    json,
    answer: print,
    line: print,
    note: (text) => void stderr.write(`${text}\n`),
    progress: async (what, work) => {
      let seconds = 0;
      const timer = setInterval(() => {
        seconds++;
        if (stderr.isTTY) stderr.write(`\r${what} … ${seconds} s `);
        else if (seconds === 1 || seconds % 10 === 0) stderr.write(`${what} … ${seconds} s\n`);
      }, 1_000);
      try {
        return await work;
      } finally {
        clearInterval(timer);
        if (stderr.isTTY && seconds > 0) stderr.write(`\r${' '.repeat(what.length + 12)}\r`);
      }
    },
  };
}

/** Columns of equal width under their names. */
export function table(names: string[], rows: string[][]): string {
  if (rows.length === 0) return 'none';
  const all = [names.map((name) => name.toUpperCase()), ...rows];
  const widths = names.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return all.map(line).join('\n');
}

/** Names and values, one below the other; what is absent is left out. */
export function fields(values: Record<string, string | undefined>): string {
  const shown = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** 199000 is R$ 1.990,00. */
export function reais(cents: number | null | undefined): string | undefined {
  if (cents === null || cents === undefined) return undefined;
  const whole = String(Math.floor(Math.abs(cents) / 100)).replace(/\B(?=(\d{3})+$)/g, '.');
  return `${cents < 0 ? '-' : ''}R$ ${whole},${String(Math.abs(cents) % 100).padStart(2, '0')}`;
}
