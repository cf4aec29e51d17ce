import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { VintemError, verifyWebhook } from '../src/index.ts';
import { hmacSha256 } from '../src/sha256.ts';

const secret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
const id = '01939f3a-7c00-7000-8000-000000000001';
const body = '{"id":"1","type":"webhook.test","data":{"operationId":"loja ção 💰"}}';

/** Signed by the reference implementation. */
function signed(key: string, text = body, at = new Date()) {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(key).sign(id, at, text),
  };
}
const codeOf = (work: () => unknown): string => {
  try {
    work();
    return 'accepted';
  } catch (error) {
    return error instanceof VintemError ? error.code : String(error);
  }
};

test('the HMAC is that of node:crypto for keys and messages of every length around the block', () => {
  for (let length = 0; length < 200; length++) {
    const [key, message] = [randomBytes(length), randomBytes((length * 7) % 300)];
    const own = Buffer.from(hmacSha256(key, message)).toString('hex');
    expect(own).toBe(createHmac('sha256', key).update(message).digest('hex'));
  }
  const large = randomBytes(1_000_003);
  expect(Buffer.from(hmacSha256(large, large)).toString('hex')).toBe(
    createHmac('sha256', large).update(large).digest('hex'),
  );
});

test('what the reference implementation signs is accepted, in every form that a server has it, also when awaited', async () => {
  const key = secret();
  const headers = signed(key);
  const event = JSON.parse(body);
  const bytes = new TextEncoder().encode(body);
  expect(verifyWebhook(body, headers, [key])).toEqual(event);
  expect(verifyWebhook(Buffer.from(body), new Headers(headers), key)).toEqual(event);
  expect(verifyWebhook(bytes.buffer, headers, [secret(), key])).toEqual(event);
  expect(verifyWebhook(bytes, { 'Webhook-Id': id, ...capital(headers) }, [key, secret()])).toEqual(event);
  expect(await verifyWebhook(body, headers, [key])).toEqual(event);
});

const capital = (headers: Record<string, string>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));

test('both signatures of a rotation are accepted, with either secret', () => {
  const [older, newer] = [secret(), secret()];
  const at = new Date();
  const both = `${new Webhook(newer).sign(id, at, body)} ${new Webhook(older).sign(id, at, body)}`;
  const headers = { ...signed(newer, body, at), 'webhook-signature': both };
  for (const key of [older, newer]) expect(verifyWebhook(body, headers, [key]).type).toBe('webhook.test');
  expect(codeOf(() => verifyWebhook(body, headers, [secret()]))).toBe('invalid_signature');
});

test('a message is refused when one bit of it, its id or its time is different', () => {
  const key = secret();
  const headers = signed(key);
  const bytes = Buffer.from(body);
  for (let bit = 0; bit < bytes.length * 8; bit += 5) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    expect(codeOf(() => verifyWebhook(changed, headers, [key]))).toBe('invalid_signature');
  }
  const later = String(Number(headers['webhook-timestamp']) + 1);
  for (const other of [
    { 'webhook-id': `${id}1` },
    { 'webhook-id': '' },
    { 'webhook-timestamp': later },
    { 'webhook-timestamp': undefined },
    { 'webhook-timestamp': 'today' },
    { 'webhook-signature': '' },
    { 'webhook-signature': undefined },
    { 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v1a,') },
    { 'webhook-signature': headers['webhook-signature'].slice(0, -2) },
  ])
    expect([other, codeOf(() => verifyWebhook(body, { ...headers, ...other }, [key]))]).toEqual([
      other,
      'invalid_signature',
    ]);
});

test('a message that is older or newer than the tolerance is refused', () => {
  const key = secret();
  const at = (seconds: number) => signed(key, body, new Date(Date.now() + seconds * 1000));
  for (const seconds of [-310, 310])
    expect(codeOf(() => verifyWebhook(body, at(seconds), [key]))).toBe('invalid_signature');
  expect(codeOf(() => verifyWebhook(body, at(-310), [key], { toleranceSeconds: 400 }))).toBe('accepted');
});

test('a secret that is missing, empty or too short is refused: with it every caller can sign', () => {
  const forged = (key: Buffer) => ({
    ...signed(secret()),
    'webhook-signature': `v1,${createHmac('sha256', key)
      .update(`${id}.${Math.floor(Date.now() / 1000)}.${body}`)
      .digest('base64')}`,
  });
  for (const wrong of [[], [''], [undefined], undefined, '', 'whsec_', 'whsec_AAAA', 'not base64 !'])
    expect([wrong, codeOf(() => verifyWebhook(body, forged(Buffer.alloc(0)), wrong))]).toEqual([
      wrong,
      'invalid_secret',
    ]);
  expect(codeOf(() => verifyWebhook(body, signed(secret()), [secret(), undefined]))).toBe('invalid_secret');
});
