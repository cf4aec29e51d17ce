import { expect, test } from 'vitest';
import { keyFindings } from './diagnosis.ts';
import type { Reply } from './exchange.ts';

const saying = (status: number, body: object): Reply => ({
  ...{ kind: 'answer', status, headers: {}, text: '' },
  body,
});
const ours = 'https://loja.example/hooks/secret';

test('A key without an address proves nothing of whose it is, and one with ours is the account’s', () => {
  const missing = { type: 'https://pix.bcb.gov.br/api/v2/error/WebhookNaoEncontrado' };
  const [key, address] = keyFindings(saying(404, missing), ours);
  expect(key?.message).toContain('whether it is of the account shows then');
  expect([key?.ok, address?.check, address?.ok]).toEqual([true, 'webhook', false]);
  const [own] = keyFindings(saying(200, { webhookUrl: ours }), ours);
  expect(own?.message).toBe('the Pix key is known to the account');
});
