import { expect, test } from 'vitest';
import { wordsOf } from './words.ts';

test.each([
  [{ detail: 'A chave fulano@example.com não existe.' }, 'A chave … não existe.'],
  [{ mensagem: 'Documento 123.456.789-09 bloqueado' }, 'Documento … bloqueado'],
  [{ title: 'Cobrança inválida', detail: 'O txid "abcdefghij" já foi usado' }, 'O txid … já foi usado'],
  [{ message: 'Saldo insuficiente na conta de Fulano de Tal' }, 'Saldo insuficiente na conta de … de …'],
  [{ detail: 'A chave aaaaaaaabbbbccccddddeeeeeeeeeeee falhou' }, 'A chave … falhou'],
  [{ error: 'unauthorized' }, null],
  [{ detail: 5 }, null],
  [null, null],
])('The words %j are kept as %j', (body, message) => {
  expect(wordsOf(422, 'no known error', body)).toEqual({ name: '422 no known error', message });
});

test('A long text is cut', () => {
  const words = wordsOf(400, 'x', { detail: 'palavra '.repeat(100) });
  expect(words.message).toHaveLength(200);
});
