import { get } from 'node:http';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPageAddresses, type PageKind } from '../../src/ground/page-address.ts';
import { setReturnRule } from '../../src/operate/accounts/return-rule.ts';

/** The payer's pages over HTTP, as a browser without script, a bot and an attacker meet them. */

let service: Service;
let merchant: Merchant;
let number: number;

const pathOf = (kind: PageKind, id: string): string =>
  service.runtime.pages.of(kind, number, id).slice(service.runtime.pages.base.length);
const open = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(service.url + path, { headers: { 'accept-language': 'pt-BR', ...headers } });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};
const newCharge = async (fields: object = {}): Promise<string> => (await merchant.charge(fields)).body.id;

async function numberOf({ ownerId }: Merchant): Promise<number> {
  const rows = await service.database.admin<{ number: string }>('SELECT number FROM account WHERE id = $1', [
    ownerId,
  ]);
  return Number(rows[0]?.number);
}

beforeAll(async () => {
  service = await openService();
  merchant = await service.newMerchant();
  number = await numberOf(merchant);
});
afterAll(() => service?.close());

/**
 * How many rows each table has of an account, and how many accounts, people and sessions there are. Of a new account, so that nothing which other tests have begun
 * ends meanwhile. The log of the merchant's own requests, and the publication of events that `event` has already, are no effect of a visit.
 */
async function rowsOf({ ownerId }: Merchant): Promise<Record<string, number>> {
  const tables = await service.database.admin<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped
      WHERE n.nspname LIKE 'vintem%' AND c.relkind = 'r' AND c.relname NOT IN ('request_log', 'storage_budget', 'event_fresh', 'event_log', 'event_sequence')
      ORDER BY 1`,
  );
  expect(tables.length).toBeGreaterThan(20);
  const counts: Record<string, number> = {};
  const count = async (name: string, text: string, values: unknown[]): Promise<void> => {
    const [row] = await service.database.admin<{ count: string }>(text, values);
    counts[name] = Number(row?.count);
  };
  for (const { name } of tables)
    await count(name, `SELECT count(*) FROM ${name} WHERE account_id = $1`, [ownerId]);
  for (const name of ['account', 'panel_user', 'panel_session'])
    await count(name, `SELECT count(*) FROM vintem.${name}`, []);
  return counts;
}

describe('a payer’s page', () => {
  test('A charge is shown to its payer with the code, without script, cookie or anything from elsewhere', async () => {
    const made = (await merchant.charge({ amountCents: 1234, description: 'Pedido 7' })).body;
    const { status, headers, text } = await open(pathOf('charge', made.id));
    expect(status).toBe(200);
    expect(text).toContain('R$ 12,34');
    expect(text).toContain('Pedido 7');
    expect(text).toContain(`>${made.copyPaste}</textarea>`);
    expect(text).toMatch(/<svg role="img" aria-label="QR Code Pix/);
    expect(text).not.toMatch(/(?:src|href)="https?:/);
    expect(text).not.toContain(made.payerName ?? 'Maria');
    expect(headers.get('set-cookie')).toBeNull();
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex',
      'referrer-policy': 'no-referrer',
      'content-language': 'pt-BR',
      'content-security-policy': expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
    });
    const english = await open(pathOf('charge', made.id), { 'accept-language': 'en' });
    expect(english.text).toContain('<html lang="en">');
    expect(
      (await open(`${pathOf('charge', made.id)}?lang=pt-BR`, { 'accept-language': 'en' })).text,
    ).toContain('<html lang="pt-BR">');
  });

  test('A page with its style and script stays far below 60 KiB', async () => {
    const page = await open(pathOf('charge', await newCharge()));
    const linked = [...page.text.matchAll(/(?:href|src)="(\/pay\/(?:style\.css|page\.js)[^"]*)"/g)];
    expect(linked).toHaveLength(2);
    const files = await Promise.all(
      linked.map(([, path]) => open((path as string).replaceAll('&amp;', '&'))),
    );
    const bytes = [page, ...files].reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    expect(bytes).toBeLessThan(60 * 1024);
  });

  test('A page, its style and its script travel compressed, and a logo has its place before it is there', async () => {
    const path = pathOf('charge', await newCharge());
    await service.database.admin(
      `INSERT INTO merchant_profile (account_id, logo, updated_at) VALUES ($1, $2, now())`,
      [merchant.ownerId, PNG.sync.write(new PNG({ width: 400, height: 100 }))],
    );
    // 38 pixels high, and a border of 3 around it.
    const { text } = await open(path, { 'accept-encoding': 'identity' });
    expect(text).toContain('alt="" width="158" height="44">');
    await service.database.admin('DELETE FROM merchant_profile WHERE account_id = $1', [merchant.ownerId]);
    const parts = [...text.matchAll(/"(\/pay\/(?:style\.css|page\.js)\?v=[0-9a-f]{12})"/g)].map(
      ([, url = '']) => url,
    );
    expect(parts.length).toBe(2);
    for (const url of [path, ...parts]) {
      const small = await open(url, { 'accept-encoding': 'br' });
      const plain = await open(url, { 'accept-encoding': 'identity' });
      expect([url, small.headers.get('content-encoding')]).toEqual([url, 'br']);
      expect([url, plain.headers.get('content-encoding')]).toEqual([url, null]);
      for (const { headers } of [small, plain])
        expect(headers.get('vary')).toBe('accept-language, accept-encoding');
      if (url === path) continue;
      expect(small.text).toBe(plain.text);
      expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    }
  });

  test('A thousand visits of bots create nothing: every table has the rows that it had', async () => {
    const visited = await service.newMerchant();
    const path = new URL((await visited.charge()).body.payerUrl).pathname;
    const before = await rowsOf(visited);
    for (let at = 0; at < 1_000; at += 50)
      await Promise.all(Array.from({ length: 50 }, (_, one) => open(one % 5 === 0 ? `${path}/state` : path)));
    expect(await rowsOf(visited)).toEqual(before);
  });

  test('Markup, emoji and marks of direction in texts stay text', async () => {
    await service.database.admin(
      `INSERT INTO merchant_profile (account_id, display_name, colour, updated_at) VALUES ($1, $2, '#14467c', now())
        ON CONFLICT (account_id) DO UPDATE SET display_name = excluded.display_name`,
      [merchant.ownerId, '<img src=x onerror=alert(1)> "Pão" 🥖 \u202Emoc.live'],
    );
    const { text } = await open(pathOf('charge', await newCharge()));
    expect(text).not.toMatch(/<img src=x/);
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt; &quot;Pão&quot; 🥖 moc.live');
    expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    expect(text).toContain('/pay/style.css?v=');
    expect(text).toContain('&amp;colour=14467c');
    const style = await open('/pay/style.css?colour=14467c');
    expect(style.text).toMatch(/:root\{--accent:#14467c\}\n$/);
    expect((await open('/pay/style.css?colour=%7D*%7B')).text).not.toContain('--accent:#}');
  });

  test('Forged, altered and foreign tokens, and tokens of another kind, all get the same page that says nothing', async () => {
    const id = await newCharge();
    const token = pathOf('charge', id).slice('/pay/'.length);
    const other = createPageAddresses(Buffer.alloc(32, 9), service.runtime.pages.base);
    const foreign = other.of('charge', number, id).split('/').at(-1);
    const unknown = pathOf('charge', '00000001-7f0e-8a31-9c1d-2b8f7d1a5e42').slice('/pay/'.length);
    const altered = token.slice(0, 20) + (token[20] === 'A' ? 'B' : 'A') + token.slice(21);
    const refund = pathOf('refundReceipt', id).slice('/pay/'.length);
    const answers = await Promise.all(
      [foreign, unknown, altered, refund, 'x', token.slice(1), `${token}A`, id].map((one) =>
        open(`/pay/${one}`),
      ),
    );
    const plain = (text: string): string => text.replaceAll(/\/pay\/[^"?]+/g, '/pay/…');
    for (const { status, text } of answers) {
      expect(status).toBe(404);
      expect(plain(text)).toBe(plain(answers[0]?.text ?? ''));
    }
    for (const part of ['state', 'events', 'receipt.pdf', 'logo.png'])
      expect((await open(`/pay/${altered}/${part}`)).status, part).toBe(404);
  });

  test('An address below /pay that is none gets the same page, which no index keeps', async () => {
    const page = await open('/pay/x');
    for (const path of ['/pay', '/pay/', '/pay/x/y', '/pay/x/y/z', '/pay/?lang=pt-BR']) {
      const { status, headers, text } = await open(path);
      const told = [status, headers.get('x-robots-tag'), headers.get('content-security-policy')];
      expect([path, ...told]).toEqual([path, 404, 'noindex', page.headers.get('content-security-policy')]);
      expect(text.replaceAll(/\/pay\b[^"?]*/g, '')).toBe(page.text.replaceAll(/\/pay\b[^"?]*/g, ''));
    }
    const posted = await fetch(`${service.url}/pay/x/y`, { method: 'POST' });
    expect([posted.status, posted.headers.get('x-robots-tag')]).toEqual([404, 'noindex']);
    // Beside it the answer is that of the API.
    const beside = await open('/api/nowhere');
    expect([beside.status, beside.headers.get('x-robots-tag')]).toEqual([404, null]);
    expect(JSON.parse(beside.text).code).toBe('route_not_found');
  });

  test('A page says paid within two seconds of the payment, by its stream, by its state and on reload', async () => {
    const id = await newCharge();
    const path = pathOf('charge', id);
    const stream = listen(path);
    expect(await stream.next()).toMatch(/^pending\./);
    await service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/pay`, {});
    expect(await stream.next()).toMatch(/^paid\./);
    const seen = Date.now();
    const rows = await service
      .cellOf(merchant)
      .sql.run<{ updatedAt: number }>(
        { name: 'test_paid_at', text: 'SELECT updated_at AS "updatedAt" FROM payment WHERE id = $1' },
        [id],
      );
    expect(seen - (rows[0]?.updatedAt ?? 0)).toBeLessThan(2_000);
    stream.close();
    expect(JSON.parse((await open(`${path}/state`)).text).state).toBe('paid');
    const { text } = await open(path);
    expect(text).toContain('Pagamento recebido');
    expect(text).not.toContain('<textarea');
    const pdf = await open(`${path}/receipt.pdf`);
    expect([pdf.status, pdf.headers.get('content-type'), pdf.text.slice(0, 5)]).toEqual([
      200,
      'application/pdf',
      '%PDF-',
    ]);
    // A receipt proves itself: what it is worth today, and nothing of a person.
    const proof = await open(pathOf('receipt', id));
    expect(proof.text).toContain('Pix liquidado');
    expect(proof.text).not.toContain('Maria');
    const made = (await merchant.call('GET', `/payments/${id}`)).body;
    expect(proof.text).toContain(made.endToEnd);
  });

  test('The state of a page costs no read while nothing changes', async () => {
    const path = pathOf('charge', await newCharge());
    const first = await open(`${path}/state`);
    const { sql } = service.cellOf(merchant);
    const run = sql.run;
    const names: string[] = [];
    sql.run = ((statement, values) => {
      names.push(statement.name);
      return run(statement, values);
    }) as typeof sql.run;
    try {
      for (let at = 0; at < 20; at++) expect((await open(`${path}/state`)).text).toBe(first.text);
    } finally {
      sql.run = run;
    }
    expect(names.filter((name) => name === 'page_payment')).toEqual([]);
  });

  test('A payer who pays twice reads whether the second Pix goes back by itself, as the rule of the account has it', async () => {
    for (const [rule, words] of [
      ['never', 'combine a devolução com o recebedor'],
      ['second_payment', 'volta sozinho para a conta de onde veio'],
    ] as const) {
      const of = await service.newMerchant();
      const operator = { ...service.cellOf(of), actor: 'tester' };
      await setReturnRule(operator, of.ownerId, { returnOddMoney: rule, afterMinutes: 60 });
      const { body } = await of.charge();
      const path = new URL(body.payerUrl).pathname;
      const pay = () =>
        service.simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`, {});
      await pay();
      await until(async () => (await open(path)).text.includes('Pagamento recebido'));
      await pay();
      await until(async () => (await open(path)).text.includes('Pago mais de uma vez'));
      expect((await open(path)).text).toContain(words);
      expect((await open(`${path}?lang=en`)).text).toContain('Paid more than once');
      const proof = service.runtime.pages.of('receipt', await numberOf(of), body.id);
      expect((await open(new URL(proof).pathname)).text).toContain('Pix liquidado');
    }
  });

  test('A charge that ended unpaid says so, and a receipt of it proves nothing', async () => {
    const id = await newCharge();
    await service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/remove`, {});
    expect((await open(`${pathOf('charge', id)}/receipt.pdf`)).status).toBe(404);
    expect((await open(pathOf('receipt', id))).text).toContain('Não liquidado');
  });
});

describe('a payment link', () => {
  const newLink = async (
    fields: object = {},
    of = merchant,
  ): Promise<{ id: string; url: string; path: string }> => {
    const order = {
      title: 'Curso de cerâmica',
      amountCents: 2500,
      requestKey: crypto.randomUUID(),
      ...fields,
    };
    const { id, url } = (await of.call('POST', '/payment-links', order)).body;
    return { id, url, path: new URL(url).pathname };
  };
  const send = async (path: string, fields: Record<string, string>) => {
    const answer = await fetch(`${service.url}${path}/charge`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'accept-language': 'pt-BR' },
      body: new URLSearchParams({ method: 'pix', ...fields }),
    });
    return { status: answer.status, to: answer.headers.get('location') ?? '', text: await answer.text() };
  };
  const sendJson = async (path: string, body: object) => {
    const answer = await fetch(`${service.url}${path}/charge`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: what a test looks at is checked by the test
    return { status: answer.status, body: (await answer.json()) as any };
  };
  const formKeyOf = (text: string): string => /name="formKey" value="([0-9a-f-]{36})"/.exec(text)?.[1] ?? '';
  const chargesOf = async ({ id }: { id: string }) =>
    (await merchant.call('GET', `/payment-links/${id}/payments`)).body.payments;

  test('A link’s page makes nothing until its form is sent, and a form that is sent twice makes one charge', async () => {
    const link = await newLink({ description: 'Turma de março', payerFields: { name: 'required' } });
    const visited = await service.newMerchant();
    const seen = await newLink({}, visited);
    const before = await rowsOf(visited);
    for (let at = 0; at < 1_000; at += 50)
      await Promise.all(Array.from({ length: 50 }, () => open(seen.path)));
    expect(await rowsOf(visited)).toEqual(before);
    const pages = await Promise.all(Array.from({ length: 100 }, () => open(link.path)));
    const [page] = pages;
    expect(page?.status).toBe(200);
    expect(page?.text).toContain('R$ 25,00');
    expect(page?.text).toContain('Turma de março');
    expect(page?.text).not.toContain('name="amount"');
    const formKey = formKeyOf(page?.text ?? '');
    expect(new Set(pages.map(({ text }) => formKeyOf(text))).size).toBe(100);

    const nameless = await send(link.path, { formKey });
    expect(nameless.status).toBe(400);
    expect(nameless.text).toContain('O nome do pagador é obrigatório.');
    expect(nameless.text).toContain('<form method="post"');

    // Amount and merchant are those of the link's row, whatever a form says.
    const fields = { formKey, payerName: 'Ana Prado', amountCents: '1', amount: '0,01' };
    const [made, again] = [await send(link.path, fields), await send(link.path, fields)];
    expect(made.status).toBe(303);
    expect(again.to).toBe(made.to);
    const charge = await open(made.to);
    expect(charge.text).toContain('</textarea>');
    expect(charge.text).toContain('R$ 25,00');
    expect(charge.text).not.toContain('Ana Prado');
    expect(await chargesOf(link)).toMatchObject([
      { amountCents: 2500, paymentLinkId: link.id, status: 'pending' },
    ]);
  });

  test('A program makes the charge of a link by JSON, and bad input makes none', async () => {
    const link = await newLink({ amountCents: undefined, minimumCents: 500, maximumCents: 10_000 });
    const made = await sendJson(link.path, { method: 'pix', amountCents: 1234, payerName: 'Bruno' });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      status: 'pending',
      amountCents: 1234,
      copyPaste: expect.stringMatching(/^000201/),
    });
    expect((await open(new URL(made.body.payerUrl).pathname)).text).toContain(made.body.copyPaste);
    const refusals = await Promise.all([
      sendJson(link.path, { method: 'card', amountCents: 1234 }),
      sendJson(link.path, { method: 'pix', amountCents: 1234, feeCents: 0 }),
      sendJson(link.path, { method: 'pix', amountCents: 10_001 }),
      sendJson(link.path, { method: 'pix' }),
      sendJson(pathOf('charge', made.body.id), { method: 'pix', amountCents: 1234 }),
    ]);
    expect(refusals.map(({ status, body }) => [status, body.code])).toEqual([
      [400, 'validation_failed'],
      [400, 'validation_failed'],
      [400, 'amount_out_of_limits'],
      [400, 'amount_out_of_limits'],
      [404, 'route_not_found'],
    ]);
    expect((await open(`${link.path}/charge`)).status).toBe(404);
    const page = await open(link.path);
    expect(page.text).toContain('De R$ 5,00 a R$ 100,00');
    expect((await send(link.path, { formKey: formKeyOf(page.text), amount: 'dez reais' })).status).toBe(400);
    expect((await send(link.path, { formKey: formKeyOf(page.text), amount: '12,34' })).status).toBe(303);
    expect((await chargesOf(link)).map(({ amountCents }: { amountCents: number }) => amountCents)).toEqual([
      1234, 1234,
    ]);
  });

  test('A payer of a link gets a new code in the place of one that ended, of the same amount, and two tabs get the same', async () => {
    const link = await newLink({ amountCents: undefined, minimumCents: 500, maximumCents: 10_000 });
    const { body } = await sendJson(link.path, { method: 'pix', amountCents: 4321, payerName: 'Clara' });
    await service.simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/remove`, {});
    const path = new URL(body.payerUrl).pathname;
    const stream = listen(path);
    while (!(await stream.next()).startsWith('failed.'));
    stream.close();
    const { text } = await open(path);
    expect(text).toContain('Gerar novo código');
    expect(text).toContain(`action="${link.path}/charge?lang=pt-BR"`);
    expect(text).toContain(`name="replaces" value="${body.id}"`);
    const [one, other] = [
      await send(link.path, { formKey: crypto.randomUUID(), replaces: body.id }),
      await send(link.path, { formKey: crypto.randomUUID(), replaces: body.id }),
    ];
    expect(one.status).toBe(303);
    expect(other.to).toBe(one.to);
    expect(await chargesOf(link)).toMatchObject([
      { amountCents: 4321, status: 'pending' },
      { amountCents: 4321, status: 'failed' },
    ]);
    // A charge that no link made has no form: its payer asks the receiver.
    const own = await newCharge();
    await service.simulator.control('POST', `/control/charges/${own.replaceAll('-', '')}/remove`, {});
    expect((await open(pathOf('charge', own))).text).not.toContain('<form');
  });

  test('A link that is disabled or paid says so and has no form', async () => {
    const link = await newLink({ maxPayments: 1, successUrl: 'https://loja.example/obrigado?a=1&b=2' });
    const { body } = await sendJson(link.path, { method: 'pix' });
    await service.simulator.control('POST', `/control/charges/${body.id.replaceAll('-', '')}/pay`, {});
    const path = new URL(body.payerUrl).pathname;
    const stream = listen(path);
    while (!(await stream.next()).startsWith('paid.'));
    stream.close();
    expect((await open(path)).text).toContain('href="https://loja.example/obrigado?a=1&amp;b=2"');
    const paid = await open(link.path);
    expect(paid.text).toContain('Link já pago');
    expect(paid.text).not.toContain('<form');
    const other = await newLink();
    await merchant.call('PATCH', `/payment-links/${other.id}`, { status: 'disabled' });
    expect((await open(other.path)).text).toContain('Link desativado');
  });
});

test('A charge names its public page when it is made and read, and no other payment does', async () => {
  const made = (await merchant.charge({})).body;
  expect(new URL(made.payerUrl).pathname).toBe(pathOf('charge', made.id));
  expect((await open(new URL(made.payerUrl).pathname)).status).toBe(200);
  expect((await merchant.call('GET', `/payments/${made.id}`)).body.payerUrl).toBe(made.payerUrl);
  const listed = (await merchant.call('GET', '/payments')).body.payments;
  expect(listed.some((one: object) => 'payerUrl' in one)).toBe(false);
});

/** Lines of data of an event stream, one after the other. */
function listen(path: string) {
  const lines: string[] = [];
  let wake: (line: string) => void = () => {};
  const request = get(`${service.url}${path}/events`, (answer) => {
    answer.setEncoding('utf8');
    let rest = '';
    answer.on('data', (text: string) => {
      const parts = (rest + text).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const [, data] = /^data: (.*)$/m.exec(part) ?? [];
        if (data !== undefined) {
          lines.push(data);
          wake(data);
        }
      }
    });
  });
  let read = 0;
  return {
    next: async (): Promise<string> => {
      while (lines.length <= read)
        await new Promise<string>((resolve) => {
          wake = resolve;
        });
      return lines[read++] as string;
    },
    close: () => request.destroy(),
  };
}
