import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Log } from '../ground/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Net, NetRequest } from '../ports/net.ts';
import { createEfiProvider } from './efi/efi.ts';
import type { ListOutcome, ListWindow, Provider } from './provider.ts';
import { createWooviProvider } from './woovi/woovi.ts';

/** Any item of any list replaced by an odd form: the others are read, and the odd one is named or is none of ours. */

const now = Date.UTC(2026, 10, 20, 15);
const clock = {
  now: () => now,
  machineMs: () => now,
  monotonicMs: () => now,
  sleep: async () => {},
} as Clock;
const log = { warn() {}, error() {}, info() {}, debug() {} } as unknown as Log;
const at = new Date(now).toISOString();

/** Answers every list with the items that are given under its name, and every other one empty. */
const netOf = (name: string, items: readonly unknown[], path: string): Net =>
  ({
    async request({ url }: NetRequest) {
      if (url.endsWith('/oauth/token'))
        return { status: 200, headers: {}, text: '{"access_token":"t","expires_in":3600}' };
      const asked = new URL(url);
      const isAsked = asked.pathname.endsWith(path);
      const body = {
        parametros: {
          paginacao: { quantidadeDePaginas: 1, quantidadeTotalDeItens: isAsked ? items.length : 0 },
        },
        pageInfo: { skip: 0, limit: 100, hasPreviousPage: false, hasNextPage: false },
        ...(isAsked ? { [name]: items } : { pix: [], payments: [], transactions: [] }),
      };
      return { status: 200, headers: {}, text: JSON.stringify(body) };
    },
  }) as unknown as Net;

const efi = (net: Net): Provider =>
  createEfiProvider({
    ...{ connection: 'live', test: false, baseUrl: 'https://efi.example', clientId: 'i', clientSecret: 's' },
    ...{ pixKey: 'key', webhook: { trust: 'path' }, net, clock, log },
  });
const woovi = (net: Net): Provider =>
  createWooviProvider({
    ...{ connection: 'live', test: false, baseUrl: 'https://woovi.example', appId: 'x', net, clock, log },
  });

interface ListCase {
  title: string;
  provider: (net: Net) => Provider;
  /** How the list is named, and where it is. */
  name: string;
  path: string;
  item: (id: string) => Record<string, unknown>;
  /** Members without which the item cannot be read. */
  needed: readonly string[];
  list: (provider: Provider, window: ListWindow) => Promise<ListOutcome<unknown>> | undefined;
}

const cases: ListCase[] = [
  {
    title: 'charges of API Pix',
    ...{ provider: efi, name: 'cobs', path: '/cob' },
    item: (txid) => ({
      ...{ txid, status: 'ATIVA', valor: { original: '10.00' } },
      calendario: { criacao: at, expiracao: 3600 },
    }),
    needed: ['txid', 'status', 'valor'],
    list: (provider, window) => provider.listCharges(window),
  },
  {
    title: 'received Pix of API Pix',
    ...{ provider: efi, name: 'pix', path: '/pix' },
    item: (endToEndId) => ({ endToEndId, valor: '10.00', horario: at, txid: endToEndId.slice(1) }),
    needed: ['endToEndId', 'valor'],
    list: (provider, window) => provider.statement(window),
  },
  {
    title: 'payouts of Efí',
    ...{ provider: efi, name: 'pix', path: '/gn/pix/enviados' },
    item: (idEnvio) => ({
      ...{ idEnvio, endToEndId: `E${idEnvio}`, valor: '10.00', status: 'REALIZADO' },
      horario: { liquidacao: at },
    }),
    needed: ['endToEndId', 'valor', 'status'],
    list: (provider, window) => provider.listPayouts(window),
  },
  {
    title: 'disputes of Efí',
    ...{ provider: efi, name: 'infracoes', path: '/gn/infracoes' },
    item: (idInfracao) => ({
      ...{ idInfracao, endToEndId: `E${idInfracao}`, valor: 10, status: 'ABERTA' },
      dadosAnalise: { abertura: at },
    }),
    needed: ['idInfracao', 'endToEndId', 'valor', 'status'],
    list: (provider, window) => provider.disputes?.list(window),
  },
  {
    title: 'charges of Woovi',
    ...{ provider: woovi, name: 'charges', path: '/charge' },
    item: (correlationID) => ({ correlationID, value: 1000, status: 'ACTIVE', createdAt: at }),
    needed: ['value', 'status', 'createdAt'],
    list: (provider, window) => provider.listCharges(window),
  },
  {
    title: 'transactions of Woovi',
    ...{ provider: woovi, name: 'transactions', path: '/transaction' },
    item: (endToEndId) => ({ endToEndId, value: 1000, type: 'PAYMENT', status: 'CONFIRMED', time: at }),
    needed: ['endToEndId', 'value', 'time'],
    list: (provider, window) => provider.statement(window),
  },
  {
    title: 'payouts of Woovi',
    ...{ provider: woovi, name: 'payments', path: '/payment' },
    item: (correlationID) => ({ payment: { correlationID, value: 1000, status: 'CONFIRMED' } }),
    needed: ['payment'],
    list: (provider, window) => provider.listPayouts(window),
  },
  {
    title: 'disputes of Woovi',
    ...{ provider: woovi, name: 'disputes', path: '/dispute' },
    item: (endToEndId) => ({ endToEndId, value: 1000, status: 'IN_REVIEW', createdAt: at }),
    needed: ['endToEndId', 'status'],
    list: (provider, window) => provider.disputes?.list(window),
  },
];

const idOf = (report: unknown): string => {
  const { id, txid, providerId, endToEnd } = report as Record<string, string>;
  return providerId && providerId !== id
    ? (txid ?? providerId)
    : (txid ?? id ?? providerId ?? endToEnd ?? '');
};

/** Values that a provider may write in the place of an item. */
const oddForms = fc.oneof(
  fc.constantFrom(null, 0, '', 'text', true, [], {}, [[]]),
  fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 })),
);
const oddValues = fc.constantFrom(null, {}, [], '', 'R$ 10,00', -1, 10.005, '1e3', true, ['10.00'], '10,00');

async function read({ provider, name, path, list }: ListCase, items: readonly unknown[]) {
  const listed = await list(provider(netOf(name, items, path)), { fromMs: now - 1_000, toMs: now });
  if (listed?.outcome !== 'listed') throw new Error(`not listed: ${JSON.stringify(listed)}`);
  return listed;
}

describe.each(cases)('$title', (one) => {
  const ids = Array.from({ length: 5 }, (_, n) => `${'a'.repeat(31)}${n}`);
  const whole = ids.map(one.item);

  test('are all read as they are', async () => {
    const { reports, unread, complete } = await read(one, whole);
    expect([reports.length, unread, complete]).toEqual([ids.length, [], true]);
  });

  test('are read beside an item in any odd form', async () => {
    const there = (await read(one, whole)).reports.map(idOf);
    await fc.assert(
      fc.asyncProperty(fc.nat(ids.length - 1), oddForms, async (place, odd) => {
        const { reports, complete } = await read(one, whole.with(place, odd as never));
        expect(complete).toBe(true);
        const others = there.filter((_, n) => n !== place);
        expect(reports.map(idOf)).toEqual(expect.arrayContaining(others));
      }),
      { numRuns: 60 },
    );
  });

  test('are read beside one with an odd member, which is named', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(ids.length - 1),
        fc.constantFrom(...one.needed),
        oddValues,
        async (place, member, odd) => {
          const item = { ...(whole[place] as Record<string, unknown>), [member]: odd };
          // A text is an id or a status that may be read, and what has no own text names nothing.
          fc.pre(typeof odd !== 'string' || ['valor', 'value', 'createdAt', 'time'].includes(member));
          // A payment without any id was made in the panel.
          fc.pre(member !== 'payment' || JSON.stringify(odd) !== '{}');
          const { reports, unread } = await read(one, whole.with(place, item));
          expect(reports).toHaveLength(ids.length - 1);
          expect(unread).toHaveLength(1);
          expect(unread[0]?.body).toEqual(JSON.parse(JSON.stringify(item)));
          const left = Object.values(item).flatMap((value) =>
            typeof value === 'string' && value.endsWith(ids[place] ?? '') ? [value] : [],
          );
          if (left.length > 0) expect(left).toContain(unread[0]?.name);
        },
      ),
      { numRuns: 60 },
    );
  });
});
