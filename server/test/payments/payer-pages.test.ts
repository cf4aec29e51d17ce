import { get } from 'node:http';
import { type Merchant, openService, type Service } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPageAddresses, type PageKind } from '../../src/ground/page-address.ts';

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

/** How many rows each table of the whole database has. Limits and marks of the database, and the log of the merchant's own requests, are no effect of a visit. */
async function rowsOfTables(): Promise<Record<string, number>> {
  const tables = await service.database.admin<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname LIKE 'vintem%' AND c.relkind = 'r' AND c.relname NOT IN ('database_mark', 'rate_bucket', 'worker', 'write_probe', 'job', 'request_log', 'storage_budget')
      ORDER BY 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await service.database.admin<{ count: string }>(`SELECT count(*) FROM ${name}`);
    counts[name] = Number(row?.count);
  }
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

  test('A thousand visits of bots create nothing: every table has the rows that it had', async () => {
    const path = pathOf('charge', await newCharge());
    const before = await rowsOfTables();
    for (let at = 0; at < 1_000; at += 50)
      await Promise.all(Array.from({ length: 50 }, (_, one) => open(one % 5 === 0 ? `${path}/state` : path)));
    expect(await rowsOfTables()).toEqual(before);
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

  test('A charge that ended unpaid says so, and a receipt of it proves nothing', async () => {
    const id = await newCharge();
    await service.simulator.control('POST', `/control/charges/${id.replaceAll('-', '')}/remove`, {});
    expect((await open(`${pathOf('charge', id)}/receipt.pdf`)).status).toBe(404);
    expect((await open(pathOf('receipt', id))).text).toContain('Não liquidado');
  });
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
