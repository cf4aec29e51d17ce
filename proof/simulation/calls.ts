import type { Random } from './random.ts';
import type { Service } from './service.ts';
import type { World } from './world.ts';

/** Input of the service from outside: calls of the merchant, and deliveries of the provider. A process that is dead answers nothing. */

const hookPath = '/hooks/providers/';

export const bankWorldOf = (world: World, chance: Random) => ({
  now: () => world.now(),
  letters: (count: number) => chance.bytes(count).toString('hex').slice(0, count),
});

export interface Reply {
  status: number;
  body: unknown;
  replayed: boolean;
}

export const caller =
  (service: Service, key: string) =>
  async (method: string, path: string, body?: object, operationId?: string): Promise<Reply | null> => {
    const life = service.current;
    if (!life?.process.alive) return null;
    const answer = await service.inject({
      method: method as 'POST',
      url: `/api/v1/public${path}`,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(operationId ? { 'x-service-operation': operationId } : {}),
      },
      ...(body ? { payload: JSON.stringify(body) } : {}),
    });
    if (!life.process.alive) return null;
    return {
      status: answer.statusCode,
      body: answer.body === '' ? null : JSON.parse(answer.body),
      replayed: answer.headers['idempotent-replayed'] === 'true',
    };
  };

/** @param place of the address behind that of all deliveries: `simulator/TOKEN/pix` */
export async function post(
  service: Service,
  place: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<number | null> {
  const life = service.current;
  if (!life?.process.alive) return null;
  life.delivered();
  const answer = await service.inject({
    method: 'POST',
    url: hookPath + place,
    headers: { 'content-type': 'application/json', ...headers },
    payload: body,
  });
  return life.process.alive ? answer.statusCode : null;
}

export const uuidOf = (chance: Random): string => {
  const hex = chance.bytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
};
