import type { FastifyInstance } from 'fastify';
import type { CellOf } from '../edge/edge.ts';
import type { Load } from '../edge/load.ts';
import type { Config } from '../ground/config.ts';
import { payerRoutes } from '../payer/routes.ts';
import type { Runtime } from './runtime.ts';
import type { Served } from './served.ts';
import { limiterOf } from './server.ts';

export interface PayerParts extends Pick<Runtime, 'sql' | 'clock' | 'log' | 'draining' | 'pages' | 'cells'> {
  config: Config;
  mayShare(): boolean;
  loadOf?: (cell: string | undefined) => Load;
}

/** The payer's pages, at `/pay`. */
export function mountPayer(app: FastifyInstance, parts: PayerParts, servedOf: CellOf<Served>): void {
  const { cells } = parts;
  const limiter = limiterOf(parts);
  payerRoutes(
    app,
    {
      ...parts,
      limit: (request) => limiter.takeVisit(request, 'pages'),
      shed: (creates) => parts.loadOf?.(undefined).admit({ creates, policy: creates ? 'charges' : 'reads' }),
      cellOfNumber: async (accountNumber) => (await cells.ofNumbers([accountNumber])).get(accountNumber),
    },
    servedOf,
  );
}
