import pg from 'pg';
import type { Runtime } from '../../server/src/compose/runtime.ts';
import { makeCell } from '../../server/src/db/cells.ts';
import { systemClock } from '../../server/src/ports/clock.ts';
import type { Service } from './service.ts';

/** Gives a service further cells. @returns all of them, the first one in front */
export async function addCells(service: Service, number: number): Promise<readonly Runtime[]> {
  const login = new pg.Client({ connectionString: service.database.url });
  await login.connect();
  try {
    for (let made = 0; made < number; made++) await makeCell(login, systemClock.now());
  } finally {
    await login.end();
  }
  await service.runtime.cells.refresh();
  return service.runtime.cells.all();
}
