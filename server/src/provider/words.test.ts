import { expect, test } from 'vitest';
import { wordsOf } from './words.ts';

test.each([
  [{ detail: 'A chave fulano@example.com não existe.' }, 'A chave … não existe.'],
  [{ mensagem: 'Documento 123.456.789-09 bloqueado' }, 'Documento … bloqueado'],
  [{ title: 'Cobrança inválida', detail: 'O txid "abcdefghij" já foi usado' }, 'O txid … já foi usado'],
  [{ message: 'Saldo insuficiente na conta de Fulano de Tal' }, 'Saldo insuficiente na conta de … de …'],
  [
    {
      detail: 'A requisição não respeita o schema.',
      violacoes: [
        { razao: 'Deve ser um texto', propriedade: 'cob.chave', valor: 'fulano@example.com' },
        { razao: 'A chave fulano@example.com não existe', propriedade: 'cob.infoAdicionais[0].nome' },
      ],
    },
    'cob.chave: Deve ser um texto; cob.infoAdicionais[0].nome: A chave … não existe; A requisição não respeita o schema.',
  ],
  [
    { title: 'Dados inválidos.', violacoes: [{ razao: 'Obrigatório', propriedade: '12345678909' }] },
    '…: Obrigatório; Dados inválidos.',
  ],
  [
    { violacoes: [{ razao: 'Valor acima do limite', propriedade: 'valor' }, null] },
    'valor: Valor acima do limite',
  ],
  [
    {
      ...{ nome: 'json_invalido', mensagem: 'Valores ou tipos de campo inválidos' },
      erros: [{ caminho: '.body', mensagem: 'não são permitidas propriedades adicionais' }],
    },
    'não são permitidas propriedades adicionais; .body',
  ],
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
