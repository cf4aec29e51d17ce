import { expect, test } from 'vitest';
import { defaultQuotas, parseQuotas } from './quotas.ts';

test('quotas are read as calls a second and burst', () => {
  expect(parseQuotas('in-flight=500')).toEqual({ 'in-flight': { atOnce: 500 } });
  expect(parseQuotas('reads=200/400, transfers=0.5/10')).toEqual({
    reads: { perSecond: 200, burst: 400 },
    transfers: { perSecond: 0.5, burst: 10 },
  });
});

test('what cannot be read is refused whole', () => {
  const wrong = ['', 'reads', 'reads=1', 'reads=1/0', 'reads=0/1', 'reads=-1/1', 'reads=1/1.5', 'other=1/1'];
  for (const text of [
    ...wrong,
    'reads=1/1,reads=2/2',
    'reads=1/1,',
    'READS=1/1',
    'reads=1e3/1',
    'constructor=1/1',
    'in-flight=0',
    'in-flight=1/1',
    'in-flight=1,in-flight=2',
  ]) {
    expect([text, parseQuotas(text)]).toEqual([text, null]);
  }
});

test('the defaults are those that the guide names', () => {
  expect(defaultQuotas).toMatchObject({
    reads: { perSecond: 100, burst: 200 },
    charges: { perSecond: 50, burst: 100 },
    transfers: { perSecond: 20, burst: 40 },
    operations: { perSecond: 5, burst: 20 },
    webhooks: { perSecond: 5, burst: 20 },
    account: { perSecond: 300, burst: 600 },
  });
});
