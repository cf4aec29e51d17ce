import { findOwners, type PaymentOwner } from '../store/rows/payments.sql.ts';
import type { TrackingDeps } from './tracking-deps.ts';

/** `items` by the cell of their account. Items that name no account of ours are with the first cell. */
export async function byCell<Item extends { accountNumber: number }>(
  deps: TrackingDeps,
  items: readonly Item[],
): Promise<{ deps: TrackingDeps; items: Item[] }[]> {
  if (deps.cells.all().length < 2) return [{ deps, items: [...items] }];
  const found = await deps.cells.ofNumbers(items.map(({ accountNumber }) => accountNumber));
  const groups = new Map<TrackingDeps, Item[]>();
  for (const item of items) {
    const cell = found.get(item.accountNumber) ?? deps;
    const group = groups.get(cell);
    if (group) group.push(item);
    else groups.set(cell, [item]);
  }
  return [...groups].map(([cell, group]) => ({ deps: cell, items: group }));
}

interface OwnersOfCell {
  deps: TrackingDeps;
  owners: PaymentOwner[];
}

/** Whose payments these are, by cell. */
export async function findOwnersInCells(
  deps: TrackingDeps,
  connection: string,
  ids: readonly { id: string; accountNumber: number }[],
): Promise<OwnersOfCell[]> {
  if (ids.length === 0) return [];
  const groups = await byCell(deps, ids);
  return Promise.all(
    groups.map(async (group) => ({
      deps: group.deps,
      owners: await findOwners(group.deps.sql, connection, group.items),
    })),
  );
}
