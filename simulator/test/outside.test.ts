import { page, quoted, tableRows } from '@vintem/testkit/outside.ts';
import { describe, expect, test } from 'vitest';
import { newId, startProvider } from './provider.ts';

describe('the page of the outside', () => {
  test('names control calls that the simulator has', async () => {
    const provider = await startProvider();
    const calls = tableRows('Control call').flatMap(([cell = '']) => callsOf(quoted(cell)));
    expect(calls.length).toBeGreaterThan(9);
    for (const { method, path } of calls) {
      const { body } = await provider.control(method, path.replace(/\{\w+\}/, newId()));
      expect([path, body?.error]).not.toEqual([path, 'no such control call']);
    }
  });

  test('names no other control call in its text', async () => {
    const provider = await startProvider();
    const calls = callsOf(quoted(page).filter((text) => /^(?:GET|PUT|POST|DELETE) \/control\//.test(text)));
    expect(calls.length).toBeGreaterThan(15);
    for (const { method, path } of calls) {
      const { body } = await provider.control(method, path.replace(/\{\w+\}/, newId()));
      expect([path, body?.error]).not.toEqual([path, 'no such control call']);
    }
  });

  test('says of refunds that they take every value of payouts', () => {
    expect(page).toContain('behaviour key `refund` with the values of `payout`');
    const valuesOf = (name: string) =>
      quoted(tableRows('Key').find(([key]) => key === `\`${name}\``)?.[1] ?? '');
    expect(valuesOf('refund')).toEqual(valuesOf('payout').filter((text) => /^[a-z0-9-]+$/.test(text)));
  });

  test('names behaviours that the simulator takes, the default first', async () => {
    const provider = await startProvider();
    const standard = (await provider.control('DELETE', '/behaviour')).body;
    for (const [key = '', values = ''] of tableRows('Key')) {
      const names = quoted(key);
      if (names.length > 1) {
        expect(names.map((name) => standard[name])).toEqual(values.split(',').map(Number));
        continue;
      }
      const [name = ''] = names;
      expect([name, standard[name]]).toEqual([name, quoted(values)[0]]);
      for (const value of quoted(values).filter((text) => /^[a-z0-9-]+$/.test(text) && !/Ms$/.test(text))) {
        const { status } = await provider.behave({ [name]: value });
        expect([name, value, status]).toEqual([name, value, 200]);
      }
    }
  });
});

/** `POST /control/payouts/{idEnvio}/complete`, `/refuse` and `/return` of one row are three calls. */
function callsOf(texts: readonly string[]): { method: string; path: string }[] {
  const calls: { method: string; path: string }[] = [];
  let [methods, path]: [string[], string] = [[], ''];
  for (const text of texts) {
    const whole = /^((?:GET|PUT|POST|DELETE)(?: |$))?(?:(\/control)?(\/\S+))?/.exec(text);
    if (!whole) continue;
    const [, verb, control, rest = ''] = whole;
    if (verb)
      methods = control ? [...methods.filter(() => path === ''), verb.trim()] : [...methods, verb.trim()];
    if (control) path = rest;
    else if (rest) path = path.replace(/\/[a-z]+$/, rest);
    if (path !== '' && (control || rest)) for (const method of methods) calls.push({ method, path });
  }
  return calls;
}
