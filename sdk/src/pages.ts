/** One page of a list, newest entries first; those of a statement, oldest first. */
export interface Page<Item> {
  items: Item[];
  /** null: this is the last page. */
  nextCursor: string | null;
}

/**
 * A list that is fetched page by page while it is read: `for await` gives its entries, `pages()` its pages.
 *
 * @example
 * for await (const payment of vintem.payments.list({ status: 'paid' })) console.log(payment.id);
 */
export interface List<Item, Totals = unknown> extends AsyncIterable<Item> {
  /** @param cursor `nextCursor` of an earlier page of the same list with the same filters; valid for 7 days */
  pages(cursor?: string): AsyncGenerator<Page<Item> & Totals, void, undefined>;
}

export function listOf<Item, Totals>(
  fetchPage: (cursor: string | undefined) => Promise<Page<Item> & Totals>,
): List<Item, Totals> {
  async function* pages(cursor?: string): AsyncGenerator<Page<Item> & Totals, void, undefined> {
    for (let next: string | null | undefined = cursor; next !== null; ) {
      const page: Page<Item> & Totals = await fetchPage(next);
      yield page;
      next = page.nextCursor;
    }
  }
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { items } of pages()) yield* items;
    },
  };
}
