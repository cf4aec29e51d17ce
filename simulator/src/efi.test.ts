import { expect, test } from 'vitest';
import type { StatementLine } from './bank.ts';
import { readReportRequest, reportText } from './efi.ts';

const [day, nextDay] = [Date.parse('2026-11-20T00:00:00-03:00'), Date.parse('2026-11-21T00:00:00-03:00')];
const line = (kind: StatementLine['kind'], at: number, id: string): StatementLine => ({
  key: 'k',
  at,
  id,
  kind,
  amountCents: 975,
  endToEnd: 'E1',
});

test('a report has the kinds that were asked for, of the day in Brasília', () => {
  const statement = [
    line('DEVOLUCAO_RECEBIDA', day - 1, 'D1'),
    line('DEVOLUCAO_RECEBIDA', day, 'D2'),
    line('PIX_ENVIADO', day, 'E1'),
    line('DEVOLUCAO_RECEBIDA', nextDay - 1, 'D3'),
    line('DEVOLUCAO_RECEBIDA', nextDay, 'D4'),
  ];
  const report = { id: 'x', day: '2026-11-20', kinds: ['pixDevolucaoRecebida'], requestedAt: nextDay };
  expect(reportText(report, statement).split('\n').slice(1, -2)).toEqual([
    'PDR;1;E1;D2;9.75;2026-11-20T03:00:00.000Z',
    'PDR;1;E1;D3;9.75;2026-11-21T02:59:59.999Z',
  ]);
});

test.each<[string, unknown, number, boolean]>([
  ['the day before', { dataMovimento: '2026-11-20', tipoRegistros: { pixRecebido: true } }, nextDay, true],
  ['a day that is not over', { dataMovimento: '2026-11-20', tipoRegistros: {} }, nextDay - 1, false],
  ['no day', { tipoRegistros: {} }, nextDay, false],
  ['an unknown property', { dataMovimento: '2026-11-20', tipoRegistros: { pix: true } }, nextDay, false],
])('a report of %s', (_name, body, now, taken) => {
  expect('day' in readReportRequest(body, now)).toBe(taken);
});
