import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Merchant, openService, type Service, until } from '@vintem/testkit/service.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installedPython } from '../judges.ts';

/**
 * The statement as OFX in two importers in Python, where that is installed: `ofxtools`, which refuses what the specification does not allow, and
 * `ofxparse`. Two in JavaScript stand in `server/test/payments/statement-api.test.ts`.
 */

const python = await installedPython(new URL('python/', import.meta.url));

describe.runIf(python !== null)('An importer', () => {
  let service: Service;
  let merchant: Merchant;
  beforeAll(async () => {
    service = await openService();
    merchant = await service.newMerchant();
  });
  afterAll(() => service?.close());

  interface Taken {
    account: string;
    currency: string;
    balance: number;
    lines: [id: string, type: string, cents: number, name: string, memo: string, at: number][];
  }

  async function importers(ofx: string): Promise<Record<string, Taken>> {
    const script = fileURLToPath(new URL('python/read_ofx.py', import.meta.url));
    return new Promise((resolve, reject) => {
      // Times that an importer takes without their zone are those of the machine.
      const child = execFile(python ?? '', [script], { env: { TZ: 'UTC' } }, (error, out) =>
        error ? reject(error) : resolve(JSON.parse(out)),
      );
      // An importer that ends early is judged by its exit code, not by a pipe that it no longer reads.
      child.stdin?.on('error', () => {});
      child.stdin?.end(ofx);
    });
  }

  test('takes over each line once, with its party, kind, amount and moment, and the balance', async () => {
    const sold = await merchant.paidCharge({
      amountCents: 50_000,
      payerName: `João & Irmãos <Ltda> ${'Comércio '.repeat(5)}`.trim(),
      description: `Ação nº 7 – 漢字 ${'pedido '.repeat(12)}`.trim(),
    });
    const { id: refund } = (
      await merchant.call('POST', `/payments/${sold}/refunds`, {
        amountCents: 700,
        requestKey: crypto.randomUUID(),
      })
    ).body;
    await until(async () => (await merchant.call('GET', `/refunds/${refund}`)).body.status === 'completed');
    const { id: sent } = (await merchant.transfer({ amountCents: 2_000 })).body;
    await until(async () => (await merchant.call('GET', `/payments/${sent}`)).body.status === 'completed');

    const ofx: string = (await merchant.call('GET', '/statement.ofx')).body;
    const { lines } = (await merchant.call('GET', '/statement')).body;
    const taken = await importers(ofx);
    expect(Object.keys(taken)).toEqual(['ofxtools', 'ofxparse']);
    for (const [importer, { account, currency, balance, lines: found }] of Object.entries(taken)) {
      expect([importer, currency, balance]).toEqual([importer, 'BRL', await merchant.balanceCents()]);
      expect(account).toHaveLength(22);
      expect([importer, found.map(([id, , cents]) => [id, cents])]).toEqual([
        importer,
        lines.map((line: { id: string; amountCents: number }) => [line.id, line.amountCents]),
      ]);
      const [first] = found;
      expect(first?.[1]).toBe('CREDIT');
      expect(first?.[3]).toBe('Joao & Irmaos <Ltda> Comercio Co');
      expect(first?.[4]).toMatch(/^Pix received - Joao & Irmaos/);
      expect(first?.[5]).toBe(Math.floor(Date.parse(lines[0].at) / 1000));
      expect(found.map(([, type]) => type)).toContain('FEE');
    }
    expect(taken.ofxtools?.lines).toEqual(taken.ofxparse?.lines);
  });
});
