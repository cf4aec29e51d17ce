import { expect, test } from 'vitest';
import { catalogue, errorBody, languageOf, refuse, refuseFields } from './errors.ts';

test('every error has a status of the closed set and a message in both languages [7h]', () => {
  const statuses = [400, 401, 403, 404, 405, 408, 413, 414, 415, 429, 431, 500, 503];
  for (const [code, entry] of Object.entries(catalogue)) {
    expect(code).toMatch(/^[a-z][a-z_]*$/);
    expect(statuses).toContain(entry.status);
    expect(entry.en).not.toBe('');
    expect(entry.pt).not.toBe('');
  }
});

test('a message is an array exactly for refused fields [2.5]', () => {
  const fields = errorBody(refuseFields([{ field: 'name', code: 'required' }]), 'pt-BR', 'req_1');
  expect(fields).toEqual({
    statusCode: 400,
    message: ['name é obrigatório'],
    error: 'Bad Request',
    code: 'validation_failed',
    requestId: 'req_1',
    details: [{ field: 'name', code: 'required' }],
  });
  for (const code of Object.keys(catalogue) as (keyof typeof catalogue)[]) {
    if (code !== 'validation_failed')
      expect(errorBody(refuse(code), 'en', 'req_1').message).toBeTypeOf('string');
  }
});

test('a field’s name cannot fill another part of its message', () => {
  const field = '{min}';
  expect(errorBody(refuseFields([{ field, code: 'unknown_property' }]), 'en', '').message).toEqual([
    'property {min} is not allowed',
  ]);
});

test('a refusal names its payment and what is missing', () => {
  const body = errorBody(refuse('idempotency_conflict', { paymentId: 'p' }), 'en', 'r');
  expect(body.paymentId).toBe('p');
  const denied = errorBody(refuse('permission_denied', { params: { permission: 'transfers' } }), 'en', 'r');
  expect(denied.message).toBe('The API key lacks the permission transfers.');
  expect(denied).not.toHaveProperty('params');
});

test('the language is the one that weighs more', () => {
  expect(languageOf(undefined)).toBe('en');
  expect(languageOf('pt-BR,pt;q=0.9,en;q=0.8')).toBe('pt-BR');
  expect(languageOf('en-US;q=0.5, pt;q=0.6')).toBe('pt-BR');
  expect(languageOf('pt;q=0')).toBe('en');
  expect(languageOf('de, fr')).toBe('en');
  for (const asked of [undefined, '*', 'de, fr']) expect(languageOf(asked, 'pt-BR')).toBe('pt-BR');
  expect(languageOf('en-GB', 'pt-BR')).toBe('en');
});
