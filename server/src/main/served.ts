import { type OperationDirectory, operationDirectory } from '../api/operations/operations.ts';
import { createKeyPlaces, type KeyPlaces } from '../api/transfers/key-places.ts';
import { type CellOf, onceForCell } from '../edge/edge.ts';
import { createLoad, type Load } from '../edge/load.ts';
import { createRequestLog, type RequestLog } from '../edge/request-log/request-log.ts';
import { type Defences, defencesOf } from '../flow/defend.ts';
import { refresherOfReturned, refreshIfOverdue } from '../flow/refresh.ts';
import type { Config } from '../ground/config.ts';
import { answerWithinMs } from '../ground/deadline.ts';
import type { Papers } from '../ground/paper/papers.ts';
import type { Payment } from '../money/payment.ts';
import { createLargeTransfers, type LargeTransfers } from '../operate/accounts/large-transfers.ts';
import type { ClockOffset } from '../store/database/clock-offset.ts';
import { paymentIdFor } from '../store/rows/idempotency.ts';
import { emptyCommand } from '../store/till.ts';
import type { Runtime } from './runtime.ts';

/** A cell with what its calls over HTTP need beside it. */
export interface Served extends Runtime {
  directory: OperationDirectory;
  keyPlaces: KeyPlaces;
  largeTransfers: LargeTransfers;
  papers: Papers;
  defences: Defences;
  refreshIfOverdue(payment: Payment): Promise<Payment>;
  refreshReturned(payment: Payment): Promise<Payment>;
  load: Load;
  requestLog: RequestLog;
  /** Signs cursors of the public API. */
  cursorKey: Buffer;
}

interface Serving {
  config: Config;
  clockOffset: Pick<ClockOffset, 'isTolerable'>;
  papers: Papers;
  /** Each cell as it is first served. */
  began(served: Served): void;
}

/** The cells of a process as its calls need them, each made with its first call. */
export const serveCells = ({ cells }: Pick<Runtime, 'cells'>, serving: Serving): CellOf<Served> =>
  onceForCell(
    ({ cell }) => cells.named(cell),
    (cell) => {
      const served = serve(cell, serving);
      serving.began(served);
      return served;
    },
  );

function serve(cell: Runtime, { config, clockOffset, papers }: Omit<Serving, 'began'>): Served {
  const refreshReturned = refresherOfReturned(cell);
  return {
    ...cell,
    directory: operationDirectory(cell),
    keyPlaces: createKeyPlaces({ ...cell, enabled: config.rateLimits, quotas: config.rateQuotas }),
    largeTransfers: createLargeTransfers(cell),
    papers,
    defences: defencesOf(cell),
    // A query takes from limits that all processes share: not on a machine whose clock is wrong.
    refreshIfOverdue: async (payment) =>
      clockOffset.isTolerable() ? refreshIfOverdue(cell, payment) : payment,
    refreshReturned: async (payment) => (clockOffset.isTolerable() ? refreshReturned(payment) : payment),
    load: createLoad(cell.clock, () => waitForTurn(cell), answerWithinMs),
    requestLog: createRequestLog({
      ...cell,
      paymentIdOf: (account, requestKey) => paymentIdFor(cell.identity, account, requestKey),
    }),
    cursorKey: cell.secrets.derive('cursors'),
  };
}

/** Resolves when a command submitted now would be decided by the till. */
export const waitForTurn = ({ till, ids, clock }: Pick<Runtime, 'till' | 'ids' | 'clock'>): Promise<void> =>
  till.submit(emptyCommand(ids.uuid(), clock.monotonicMs() + answerWithinMs));
