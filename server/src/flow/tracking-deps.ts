import type { Signal } from '../ground/signal.ts';
import type { Provider } from '../provider/provider.ts';
import type { CellsOf } from './cells-of.ts';
import type { SendDeps } from './send.ts';

/** The dependencies of following payments: queries, deliveries of the provider, its statement, the comparison after a restore. */
export interface TrackingDeps extends SendDeps {
  settings: SendDeps['settings'] & { listLagMs: number };
  wake: Signal;
  /** The installation's identity secret: the ids of payments that a Pix makes. */
  identity: Buffer;
  cells: CellsOf<TrackingDeps>;
  /** False: a connection that is held; the simulator, while there are no test accounts. */
  isInUse(provider: Provider): Promise<boolean>;
}
