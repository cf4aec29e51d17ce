import { Button } from '@mantine/core';
import { Fragment, useEffect, useRef, useState } from 'react';
import type { ListedRecord, RecordsPage } from '../api/client.ts';
import { money } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { movedCents } from './names.tsx';
import { FormError } from './parts.tsx';

export const hasMoved = ({ status }: Pick<ListedRecord, 'status'>): boolean =>
  status === 'paid' || status === 'completed';
export const feeCentsOf = ({ providerFeeCents, feeCents }: ListedRecord): number =>
  providerFeeCents ?? feeCents ?? 0;
export const netCentsOf = ({ netAmountCents, expectedNetAmountCents }: ListedRecord): number =>
  netAmountCents ?? expectedNetAmountCents ?? 0;

const kinds = ['deposit', 'transfer'] as const;

/** The columns of the payments of a kind that moved money, each added up, in cents. */
interface Columns {
  amountCents: number;
  feeCents: number;
  netCents: number;
}

/** `count`: all payments, also those that moved nothing. */
interface Totals {
  count: number;
  of: Partial<Record<ListedRecord['kind'], Columns>>;
}

const nothing: Totals = { count: 0, of: {} };

function added(totals: Totals, records: readonly ListedRecord[]): Totals {
  const of = { ...totals.of };
  for (const record of records.filter(hasMoved)) {
    const { amountCents, feeCents, netCents } = of[record.kind] ?? {
      amountCents: 0,
      feeCents: 0,
      netCents: 0,
    };
    of[record.kind] = {
      amountCents: amountCents + movedCents(record),
      feeCents: feeCents + feeCentsOf(record),
      netCents: netCents + netCentsOf(record),
    };
  }
  return { count: totals.count + records.length, of };
}

/** Pages of 100 that one press reads: 5,000 payments, one page after the other, within the limits of the person's calls. */
const pagesAtOnce = 50;

/** The sums below a list: of the payments that are shown, and on a press of all that match. */
export function RecordSums({
  records,
  more,
  pageAt,
}: {
  records: readonly ListedRecord[];
  /** There are payments that are not shown. */
  more: boolean;
  pageAt: (cursor: string | null) => Promise<RecordsPage>;
}) {
  const words = useWords();
  const [all, setAll] = useState<{ totals: Totals; next: string | null } | null>(null);
  const here = useRef(true);
  useEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);
  const adding = useAction(async () => {
    let { totals, next } = all?.next ? all : { totals: nothing, next: null };
    for (let page = 0; page < pagesAtOnce && here.current; page++) {
      const { records: found, nextCursor } = await pageAt(next);
      totals = added(totals, found);
      next = nextCursor;
      setAll({ totals, next });
      if (next === null) return;
    }
  });
  const shown = all?.totals ?? added(nothing, records);
  const left = all === null ? more : all.next !== null;
  return (
    <>
      <span className="soft" role="status">
        {(all === null ? words.common.shownOf : words.common.addedUp)(shown.count, left)}
        {kinds.map((kind) => {
          const sums = shown.of[kind];
          if (sums === undefined) return null;
          const { amountCents, feeCents, netCents } = sums;
          const text = { amount: money(amountCents), fees: money(feeCents), net: money(netCents) };
          return <Fragment key={kind}> · {words.common.sums[kind](text)}</Fragment>;
        })}
      </span>
      {(left || all !== null) && (
        <Button variant="subtle" px={6} loading={adding.busy} onClick={() => adding.run()}>
          {all === null ? words.common.addUpAll : left ? words.common.addUpMore : words.common.addUpAgain}
        </Button>
      )}
      <FormError error={adding.error} />
    </>
  );
}
