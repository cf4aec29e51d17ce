/**
 * A histogram of seconds in plain counters: a value costs one loop over the bounds and two additions, and allocates nothing. (prom-client
 * looks its labels up by a text for each value; here the caller keeps the histogram.)
 */
export class Histogram {
  readonly bounds: readonly number[];
  /** For each bound what fell between it and the one below; then what was above all; then the sum. */
  readonly #cells: Float64Array<ArrayBufferLike>;

  /** @param cells of `cellsOf(bounds)`; over shared memory one thread writes and another one reads */
  constructor(
    bounds: readonly number[],
    cells: Float64Array<ArrayBufferLike> = new Float64Array(cellsOf(bounds)),
  ) {
    this.bounds = bounds;
    this.#cells = cells;
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > (this.bounds[at] as number)) at++;
    const cells = this.#cells;
    cells[at] = (cells[at] as number) + 1;
    const sum = this.bounds.length + 1;
    cells[sum] = (cells[sum] as number) + value;
  }

  read(): { counts: number[]; count: number; sum: number } {
    const counts: number[] = [];
    let count = 0;
    for (let at = 0; at <= this.bounds.length; at++) {
      count += this.#cells[at] as number;
      counts.push(count);
    }
    return { counts, count, sum: this.#cells[this.bounds.length + 1] as number };
  }
}

export const cellsOf = (bounds: readonly number[]): number => bounds.length + 2;

/** Histograms by labels. Labels are words that the program chose: never an id, an account or anything that a caller sent. */
export class Histograms {
  readonly bounds: readonly number[];
  readonly labelNames: readonly string[];
  readonly #byKey = new Map<string, { labels: readonly string[]; histogram: Histogram }>();

  constructor(labelNames: readonly string[], bounds: readonly number[]) {
    this.labelNames = labelNames;
    this.bounds = bounds;
  }

  of(...labels: string[]): Histogram {
    const key = labels.length === 1 ? (labels[0] as string) : labels.join('\n');
    let found = this.#byKey.get(key);
    if (found === undefined) {
      found = { labels, histogram: new Histogram(this.bounds) };
      this.#byKey.set(key, found);
    }
    return found.histogram;
  }

  all(): Iterable<{ labels: readonly string[]; histogram: Histogram }> {
    return this.#byKey.values();
  }
}
