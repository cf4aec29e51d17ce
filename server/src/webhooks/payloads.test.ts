import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { withPayloads } from './payloads.ts';
import { sampleOf, sampleTypes } from './samples.ts';

test("the merchants' page shows the payloads as they are", async () => {
  const page = await readFile(new URL('../../../docs/merchants/webhooks.md', import.meta.url), 'utf8');
  expect(withPayloads(page)).toBe(page);
});

test('every payload carries its operation and stays below 20 KB, without code, name and key', () => {
  for (const type of sampleTypes) {
    const { data } = sampleOf(type, '01939f3a-7a00-7000-8000-000000000003', 0);
    expect(data).toMatchObject({ operationId: '01939f3a-7a00-7000-8000-000000000003' });
    expect(JSON.stringify(data).length).toBeLessThan(20_000);
    for (const hidden of ['copyPaste', 'qrCodeBase64', 'payerName', 'pixKey'])
      expect(data).not.toHaveProperty(hidden);
  }
});
