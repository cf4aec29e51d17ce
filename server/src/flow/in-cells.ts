import { providerIdOf } from '../money/payment.ts';
import type { PixOwner, Provider, QueryOutcome } from '../provider/provider.ts';
import { findOwners, findPaymentOfPage, type PaymentOwner } from '../store/rows/payments.sql.ts';
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

/** Of which payment the provider's own name of something is; a page that it names in the place of our id is looked up here. */
export async function findNamed(
  deps: TrackingDeps,
  provider: Provider,
  name: string,
): Promise<QueryOutcome<PixOwner>> {
  const found = await provider.findPix(name);
  if (found.outcome !== 'found' || found.report.providerId !== null) return found;
  const { page } = found.report;
  if (page === undefined) return found;
  const id = await findPage(deps, provider.connection, page);
  return id === undefined ? found : { ...found, report: { ...found.report, providerId: providerIdOf(id) } };
}

/** The payment of an acquirer's page, in whichever cell it is; undefined: the books do not know the page. */
export async function findPage(
  deps: TrackingDeps,
  connection: string,
  page: string,
): Promise<string | undefined> {
  for (const { sql } of deps.cells.all()) {
    const id = await findPaymentOfPage(sql, connection, page);
    if (id !== undefined) return id;
  }
  return undefined;
}
