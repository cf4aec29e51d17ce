import { newPerson, openTab, type Tab } from '@vintem/testkit/panel.ts';
import { type Run, recordedBy, rowsVisited } from '@vintem/testkit/rows-visited.ts';
import { type Answer, openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeKey } from '../../src/api/keys/key.ts';
import { type CostKind, costs, searchUnits } from '../../src/edge/costs.ts';
import { defaultQuotas } from '../../src/ground/quotas.ts';
import { type ConsoleParts, mountConsole } from '../../src/main/console.ts';
import { mountPanel, type PanelParts } from '../../src/main/panel.ts';
import { mountPayer, type PayerParts } from '../../src/main/payer.ts';
import type { Served } from '../../src/main/served.ts';
import { buildServer, type EdgeParts } from '../../src/main/server.ts';
import { setRates } from '../../src/operate/accounts/rates.ts';
import { createAccount } from '../../src/operate/connections/directory.ts';
import { whoseCall } from '../../src/store/database/whose-call.ts';

/** Strangers, keys and people who ask for more than their share of the whole program, with its limits on. */

let service: Service;
/** Every statement that the service issued. */
let runs: Run[] = [];
/** In whose line each of them would have waited for a connection. */
const lines = new WeakMap<Run, string | null>();

beforeAll(async () => {
  // Its looks for work would fall into the time of a call whose rows are counted.
  service = await openService({ env: { RATE_LIMITS: 'on' }, worker: false });
  const { sql } = service.runtime;
  Object.assign(
    sql,
    recordedBy({ ...sql }, (run) => {
      runs.push(run);
      lines.set(run, whoseCall());
    }),
  );
});
afterAll(() => service?.close());

const count = (answers: readonly { status: number }[], status: number): number =>
  answers.filter((one) => one.status === status).length;

/** At one moment of the service's clock: what is spent comes back by it, and a slow machine would be allowed more. */
async function together(times: number, call: (at: number) => Promise<Answer>): Promise<Answer[]> {
  const { clock } = service.runtime;
  const { now } = clock;
  const moment = now();
  clock.now = () => moment;
  try {
    return await Promise.all(Array.from({ length: times }, (_, at) => call(at)));
  } finally {
    clock.now = now;
  }
}

let made = 0;
async function personIn(accountId: string, role: 'owner' | 'viewer' = 'viewer'): Promise<Tab> {
  const email = `pessoa${++made}@loja.example`;
  await newPerson(service, accountId, email, role);
  const tab = openTab(service);
  expect((await tab.signIn(email)).status).toBe(200);
  return tab;
}

const newShop = () => createAccount(service.runtime, { name: 'Feira', test: true, connection: 'simulator' });

describe('The cost of every route', () => {
  test('is in the table, and every row of the table is a route of the program', async () => {
    const parts = { ...service.runtime } as unknown as EdgeParts & PanelParts & PayerParts & ConsoleParts;
    const app = buildServer(parts);
    mountPanel(app, parts, () => service.runtime as Served);
    mountPayer(app, parts, () => service.runtime as Served);
    mountConsole(app, parts);
    await app.ready();
    const missing = Object.keys(costs).filter((call) => {
      const [method, url] = call.split(' ') as ['GET', string];
      return !app.hasRoute({ method, url });
    });
    expect(missing).toEqual([]);
    await app.close();
  });

  test('is asked for when a route is registered: one without a row is not served', async () => {
    const app = buildServer({ ...service.runtime } as unknown as EdgeParts);
    expect(() => app.get('/something-new', () => 1)).toThrow('GET /something-new has no cost');
    await app.close();
  });
});

describe('The rows that the dearest call of a kind reads', () => {
  let shop: { ownerId: string; operationId: string };
  let key: string;
  let tab: Tab;

  beforeAll(async () => {
    shop = await newShop();
    key = await service.newKey(shop.ownerId);
    tab = await personIn(shop.ownerId, 'owner');
    await service.database.admin(
      `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint, description,
        payer_name, created_at, updated_at, history, command)
      SELECT $1, gen_random_uuid(), $2, 'deposit', 'pending', 1000, 25, gen_random_uuid(), '\\x01', '', 'Maria',
        now() - n * interval '1 second', now() - n * interval '1 second', '[]', gen_random_uuid()
      FROM generate_series(1, 12000) AS n`,
      [shop.ownerId, shop.operationId],
    );
    endpoint = (
      await service.as(key)('POST', '/webhooks', {
        url: 'https://loja.example/avisos',
        events: ['*'],
        requestKey: crypto.randomUUID(),
      })
    ).body.id;
    for (const statement of history)
      await service.database.admin(
        statement,
        statement.includes('$2') ? [shop.ownerId, endpoint] : [shop.ownerId],
      );
    await service.database.admin('ANALYZE payment, event, request_log, security_event, webhook_delivery');
    payment = (await api('/payments?limit=1')).body.payments[0].id;
    event = (
      await service.database.admin<{ id: string }>(
        'SELECT event_id AS id FROM webhook_delivery WHERE account_id = $1 LIMIT 1',
        [shop.ownerId],
      )
    )[0]?.id as string;
  });

  /** 12,000 rows of whatever a list looks through. */
  const history = [
    `INSERT INTO event (account_id, id, type, operation_id, created_at, body)
      SELECT $1, uuidv7(-n * interval '1 second'), 'charge.paid', gen_random_uuid(), now() - n * interval '1 second', '{}'
      FROM generate_series(1, 12000) AS n`,
    `INSERT INTO webhook_delivery (account_id, endpoint_id, event_id, status, tries_left, created_at)
      SELECT account_id, $2, id, 'delivered', 0, created_at FROM event WHERE account_id = $1`,
    `INSERT INTO request_log (account_id, id, at, method, route, status, key_id, request_id, duration_ms, ip, left_out)
      SELECT $1, uuidv7(-n * interval '1 second'), now() - n * interval '1 second', 'GET', '/account', 200, 'k', 'r' || n, 1, '', 0
      FROM generate_series(1, 12000) AS n`,
    `INSERT INTO security_event (id, at, account_id, actor, kind, outcome, detail)
      SELECT uuidv7(-n * interval '1 second'), now() - n * interval '1 second', $1, 'person', 'sign_in', 'ok', '{}'
      FROM generate_series(1, 12000) AS n`,
  ];
  let endpoint: string;
  let payment: string;
  let event: string;

  const api = (path: string) => service.as(key)('GET', path);
  const panel = (path: string) => tab.call('GET', `/accounts/${shop.ownerId}${path}`);
  const bare = async (path: string) => ({ status: (await fetch(service.url + path)).status });
  const ofApi = '/api/v1/public';
  const ofPanel = '/panel/api/accounts/:account';
  /** The dearest calls of each: by route, with what is asked. */
  const calls: [string, string, (path: string) => Promise<{ status: number }>][] = [
    ['GET /healthz', '/healthz', bare],
    ['GET /docs', '/docs', bare],
    [`GET ${ofApi}/openapi.json`, '/api/v1/public/openapi.json', bare],
    ...(
      [
        ['/account', '/account'],
        ['/operations', '/operations'],
        ['/statement', '/statement?limit=100'],
        ['/payments', '/payments?limit=100'],
        ['/payments', '/payments?status=failed&limit=1'],
        ['/payments', '/payments?kind=transfer&limit=100'],
        ['/payments/:id', '/payments/PAYMENT'],
        ['/payments/:id/refunds', '/payments/PAYMENT/refunds?limit=100'],
        ['/static-codes', '/static-codes?limit=100'],
        ['/payment-links', '/payment-links?limit=100'],
        ['/disputes', '/disputes'],
        ['/webhooks', '/webhooks'],
        ['/webhooks/event-types', '/webhooks/event-types'],
        ['/webhooks/:id', '/webhooks/ENDPOINT'],
        ['/webhooks/:id/deliveries', '/webhooks/ENDPOINT/deliveries?status=failed&limit=1'],
        ['/events', '/events?limit=100'],
        ['/events', '/events?type=charge.expired&limit=1'],
        ['/events', '/events?paymentId=PAYMENT'],
        ['/events/:id', '/events/EVENT'],
      ] as const
    ).map(([route, path]): [string, string, typeof api] => [`GET ${ofApi}${route}`, path, api]),
    ...(
      [
        ['/overview', '/overview?days=90'],
        ['/records', '/records?status=failed'],
        ['/records', '/records?search=joana'],
        ['/records/:id', '/records/PAYMENT'],
        ['/records/:id/refunds', '/records/PAYMENT/refunds'],
        ['/receivers', '/receivers'],
        ['/keys', '/keys'],
        ['/members', '/members'],
        ['/support', '/support'],
        ['/merchant-profile', '/merchant-profile'],
        ['/operation-disputes', '/operation-disputes?operationId=OPERATION'],
        ['/reconciliation', '/reconciliation'],
        ['/mail-choice', '/mail-choice'],
        ['/odd-money', '/odd-money'],
        ['/requests', '/requests?status=5xx'],
        ['/requests', '/requests?requestId=nowhere'],
        ['/security-events', '/security-events?limit=100'],
        ['/statement', '/statement?operationId=OPERATION&from=2026-01-01&to=2026-12-31'],
        ['/journal', '/journal?operationId=OPERATION'],
        ['/closes', '/closes?operationId=OPERATION'],
      ] as const
    ).map(([route, path]): [string, string, typeof panel] => [`GET ${ofPanel}${route}`, path, panel]),
  ];
  /** The values of the places of a path. */
  const filled = (path: string) =>
    path
      .replace('PAYMENT', payment)
      .replace('ENDPOINT', endpoint)
      .replace('EVENT', event)
      .replace('OPERATION', shop.operationId);
  // A cache of the process may be read anew in the call's time.
  const most: Partial<Record<CostKind, number>> = { memory: 5, rows: 1_000, search: 40_000 };

  test.each(calls)('is within the cost of %s: %s', async (route, path, call) => {
    runs = [];
    expect((await call(filled(path))).status).toBe(200);
    let rows = 0;
    for (const run of runs.filter(({ statement }) => statement.text.trimStart().startsWith('SELECT')))
      rows += await rowsVisited(service.database.url, run);
    expect(rows).toBeLessThanOrEqual(most[costs[route]?.kind as CostKind] as number);
  });

  test('is measured of every list and page of the API and the panel', () => {
    const measured = new Set(calls.map(([route]) => route));
    const left = Object.entries(costs).filter(
      ([route, { kind }]) =>
        route.startsWith('GET ') &&
        (kind === 'rows' || kind === 'search') &&
        (route.includes(`${ofApi}/`) || route.includes(`${ofPanel}/`)) &&
        // Routes that the panel shares with the API are the same code.
        !measured.has(route.replace(ofPanel, ofApi)) &&
        !measured.has(route),
    );
    expect(left.map(([route]) => route).sort()).toEqual(oneRow.map((route) => `GET ${route}`).sort());
  });

  /** One thing by its id, or a stream, whose looks are shared. */
  const oneRow = [
    `${ofApi}/disputes/:id`,
    `${ofApi}/disputes/:id/defence`,
    `${ofApi}/events/stream`,
    `${ofApi}/refunds/:id`,
    `${ofApi}/payment-links/:id`,
    `${ofApi}/payment-links/:id/payments`,
    `${ofApi}/static-codes/:id`,
    // Bounded as a page of payments is; `static-codes.test.ts` and `links.test.ts` read them.
    `${ofApi}/static-codes/:id/payments`,
    `${ofApi}/webhooks/:id/deliveries/:deliveryId`,
    `${ofPanel}/events/stream`,
    // As they are in the API; `panel-links-browser.test.ts` reads them.
    `${ofPanel}/payment-links/:id`,
    `${ofPanel}/payment-links/:id/payments`,
    `${ofPanel}/payment-links/:id/records`,
    `${ofPanel}/static-codes/:id`,
    `${ofPanel}/static-codes/:id/payments`,
    `${ofPanel}/static-codes/:id/records`,
    `${ofPanel}/members/:id/sessions`,
    `${ofPanel}/merchant-profile/logo.png`,
    `${ofPanel}/operation-disputes/:id/defence`,
    `${ofPanel}/test/clock`,
    `${ofPanel}/updates`,
    `${ofPanel}/webhooks/:id/deliveries/:deliveryId`,
  ];

  test('A search counts as twenty reads, the page itself as one', async () => {
    const leftOf = ({ headers }: Answer): number =>
      Number(/"reads";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    const fresh = await service.newKey(shop.ownerId);
    const ask = (path: string) => service.as(fresh)('GET', path);
    expect(leftOf(await ask('/payments?limit=1'))).toBeGreaterThan(195);
    const before = leftOf(await ask('/account'));
    expect(before - leftOf(await ask('/payments?status=failed&limit=1'))).toBeGreaterThanOrEqual(
      searchUnits - 3,
    );
    const answers = await together(40, () => ask('/payments?status=failed&limit=1'));
    // 40 at once were 400,000 rows.
    expect(count(answers, 200)).toBeLessThanOrEqual(20);
    expect(answers.find(({ status }) => status === 429)?.body.details).toEqual([{ policy: 'reads' }]);
    // A key that sees one kind of payment alone searches with every page.
    const narrow = await service.newKey(shop.ownerId, ['charges']);
    expect(leftOf(await service.as(narrow)('GET', '/payments?limit=1'))).toBeLessThanOrEqual(
      201 - searchUnits,
    );
  });
});

describe('Files of the panel', () => {
  test('count as files, for each person and for the account over all of its people', async () => {
    const shop = await newShop();
    const people = await Promise.all([1, 2, 3].map(() => personIn(shop.ownerId)));
    const path = `/accounts/${shop.ownerId}/statement.csv?operationId=${shop.operationId}`;
    const first = await together(40, () => (people[0] as Tab).call('GET', path));
    expect(count(first, 200)).toBeLessThanOrEqual(14);
    expect(count(first, 200) + count(first, 429)).toBe(40);
    const others = await together(40, (at) => (people[1 + (at % 2)] as Tab).call('GET', path));
    // Twenty at once for the account, and two for each second between the two rounds.
    expect(count([...first, ...others], 200)).toBeLessThan(40);
    const refused = others.find(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('A session more is no quota more', async () => {
    const shop = await newShop();
    const email = `pessoa${++made}@loja.example`;
    await newPerson(service, shop.ownerId, email, 'viewer');
    const tabs = [openTab(service), openTab(service), openTab(service)];
    for (const tab of tabs) await tab.signIn(email);
    const path = `/accounts/${shop.ownerId}/operations.csv`;
    const answers = await together(24, (at) => (tabs[at % 3] as Tab).call('GET', path));
    expect(count(answers, 200)).toBeLessThan(20);
  });

  test('follow the account’s own rates, as the other calls of its people do', async () => {
    const shop = await newShop();
    await setRates({ ...service.runtime, actor: 'test' }, shop.ownerId, {
      account: { perSecond: 0.1, burst: 5 },
    });
    const tab = await personIn(shop.ownerId);
    const answers = await together(20, () => tab.call('GET', `/accounts/${shop.ownerId}/overview`));
    expect(count(answers, 200)).toBeLessThanOrEqual(7);
    expect(answers.find(({ status }) => status === 429)?.body.details).toEqual([{ policy: 'account' }]);
  });
});

test('The statements of a call wait for a connection in the line of its account, of its seller or of strangers, and those of the till in that of everybody', async () => {
  const merchant = await service.newMerchant();
  const tab = await personIn(merchant.ownerId);
  const linesOf = async (call: () => Promise<unknown>): Promise<(string | null)[]> => {
    runs = [];
    await call();
    return [...new Set(runs.map((run) => lines.get(run) ?? null))];
  };
  const charge = { amountCents: 1000, payerName: 'Ana', description: '', requestKey: crypto.randomUUID() };
  let made = {} as Answer;
  const ofCharge = await linesOf(async () => {
    made = await merchant.call('POST', '/pix/charges', charge);
  });
  expect(made.status).toBe(201);
  expect(ofCharge).toContain(merchant.ownerId);
  const locks = runs.filter(({ statement }) => statement.name === 'balance_lock');
  expect([locks.length > 0, new Set(locks.map((run) => lines.get(run)))]).toEqual([true, new Set([null])]);
  expect(await linesOf(() => merchant.call('GET', '/payments'))).toContain(merchant.ownerId);
  const ofPerson = await linesOf(() => tab.call('GET', `/accounts/${merchant.ownerId}/overview`));
  expect(ofPerson).toContain(merchant.ownerId);
  expect(await linesOf(() => fetch(made.body.payerUrl))).toContainEqual(
    expect.stringMatching(/^payers of \d+$/),
  );
  expect(await linesOf(() => openTab(service).signIn('ninguem@loja.example'))).toContain('strangers');
});

describe('Before a caller is known', () => {
  const lookUps = (): Run[] =>
    runs.filter(({ statement: { name } }) =>
      /^(cell_of_|key_read|panel_session(?!_prune)|panel_memberships|support_view)/.test(name),
    );

  test('made-up keys cost twenty look-ups an address, and no further statement for each', async () => {
    runs = [];
    const began = performance.now();
    const answers = await together(300, () =>
      service.as(makeKey(service.runtime.ids, true).key)('GET', '/account'),
    );
    const { burst, perSecond } = defaultQuotas.auth;
    // While a busy machine answers 300 calls, the quota gives further ones.
    const given = Math.ceil(((performance.now() - began) / 1000) * perSecond);
    expect(count(answers, 401) + count(answers, 429)).toBe(300);
    expect(lookUps().length).toBeLessThanOrEqual(burst + given);
  });

  test('made-up accounts of the panel cost no look-up without a session, nor do made-up views of support', async () => {
    runs = [];
    const answers = await together(300, async () => {
      const account = crypto.randomUUID();
      const cookie = `vintem-view=${Buffer.from(account.repeat(2)).toString('base64url').slice(0, 65)}`;
      const answer = await fetch(`${service.url}/panel/api/accounts/${account}/overview`, {
        headers: { cookie },
      });
      return { status: answer.status } as Answer;
    });
    expect(count(answers, 401)).toBe(300);
    expect(lookUps()).toEqual([]);
  });

  test('Calls of the panel that name no account end at the limit of their address', async () => {
    const tab = openTab(service);
    const answers = await together(700, () => tab.call('GET', '/session'));
    expect(count(answers, 429)).toBeGreaterThan(0);
    expect(answers.find(({ status }) => status === 429)?.body.details).toEqual([{ policy: 'visits' }]);
  });
});

test('A person has two event streams, and the owner still has one where a viewer has taken all of theirs', async () => {
  const shop = await newShop();
  const [viewer, owner] = [await personIn(shop.ownerId), await personIn(shop.ownerId, 'owner')];
  const left = new AbortController();
  // An answer of `fetch` that nothing holds is collected, and its stream ends with it.
  const held: Response[] = [];
  const listen = async (tab: Tab): Promise<number> => {
    const url = `${service.url}/panel/api/accounts/${shop.ownerId}/events/stream`;
    const answer = await fetch(url, { headers: { cookie: tab.cookie() }, signal: left.signal });
    held.push(answer);
    return answer.status;
  };
  expect([await listen(viewer), await listen(viewer), await listen(viewer)]).toEqual([200, 200, 429]);
  expect(await listen(owner)).toBe(200);
  expect(held).toHaveLength(4);
  left.abort();
});
