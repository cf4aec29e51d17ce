import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { pages, withPayloads } from './payloads.ts';
import { sampleOf, sampleTypes } from './samples.ts';

test.each(['en', 'pt-BR'] as const)(
  "the merchants' page in %s shows the payloads as they are",
  async (language) => {
    const folder = new URL('../../../../docs/merchants/', import.meta.url);
    const page = await readFile(new URL(pages[language], folder), 'utf8');
    expect(withPayloads(page, language)).toBe(page);
  },
);

test('every payload carries its operation and stays below 20 KB, without code, name and key', () => {
  for (const type of sampleTypes) {
    const { data } = sampleOf(type, '01939f3a-7a00-7000-8000-000000000003', 0);
    expect(data).toMatchObject({ operationId: '01939f3a-7a00-7000-8000-000000000003' });
    expect(JSON.stringify(data).length).toBeLessThan(20_000);
    for (const hidden of ['copyPaste', 'qrCodeBase64', 'payerName', 'pixKey'])
      expect(data).not.toHaveProperty(hidden);
  }
});
