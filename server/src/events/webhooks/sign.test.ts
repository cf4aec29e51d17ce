import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { systemClock } from '../../ports/clock.ts';
import { systemIds } from '../../ports/ids.ts';
import { hintOf, keyOfSecret, makeSecret, signatureHeaders } from './sign.ts';

const id = '01939f3a-7c00-7000-8000-000000000001';

test('the vector', () => {
  const body =
    '{"id":"01939f3a-7c00-7000-8000-000000000001","type":"transfer.completed","timestamp":"2026-11-20T20:43:18.000Z","schemaVersion":1,"livemode":false,"change":{"from":"pending","to":"completed"},"data":{"id":"01939f3a-7b00-7000-8000-000000000002","kind":"transfer","amountCents":1000,"status":"completed","operationId":"01939f3a-7a00-7000-8000-000000000003"}}';
  expect(Buffer.byteLength(body)).toBe(356);
  const key = keyOfSecret('whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=');
  expect(key).toEqual(Buffer.from(Array.from({ length: 32 }, (_, byte) => byte)));
  expect(signatureHeaders([key], id, 1795207398, body)).toEqual({
    'webhook-id': id,
    'webhook-timestamp': '1795207398',
    'webhook-signature': 'v1,ZyIfpcMiRQBtU2OLNJCNp9p4NtzpUpyHrA2NDAUA20s=',
  });
});

test('the public verifier takes what either of two secrets signed, and nothing else [6.1–6.9]', () => {
  const ids = systemIds(systemClock);
  const [older, newer, other] = [makeSecret(ids), makeSecret(ids), makeSecret(ids)] as [
    string,
    string,
    string,
  ];
  const body = '{"a":"ção"}';
  const now = Math.floor(systemClock.now() / 1000);
  const headers = signatureHeaders([newer, older].map(keyOfSecret), id, now, body);
  expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
  for (const secret of [older, newer])
    expect(new Webhook(secret).verify(body, headers)).toEqual({ a: 'ção' });
  expect(() => new Webhook(other).verify(body, headers)).toThrow();
  expect(() => new Webhook(newer).verify('{"a":"cao"}', headers)).toThrow();
  const stale = signatureHeaders([keyOfSecret(newer)], id, now - 301, body);
  expect(() => new Webhook(newer).verify(body, stale)).toThrow();
});

test('a hint shows the end of a secret', () => {
  expect(hintOf('whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=')).toBe('whsec_…dHh8');
});
