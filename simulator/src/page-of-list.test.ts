import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pageOf } from './page-of-list.ts';

test('the pages of a list are its items of that time, each once and in order, with a filter and without', () => {
  const times = fc.array(fc.integer({ min: 0, max: 30 })).map((all) => all.sort((a, b) => a - b));
  const bound = fc.integer({ min: -1, max: 31 });
  fc.assert(
    fc.property(times, bound, bound, fc.integer({ min: 1, max: 7 }), fc.boolean(), (all, a, b, size, odd) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      const expected = all.filter((at) => at >= from && at <= to && (!odd || at % 2 === 1));
      const pages = Math.max(1, Math.ceil(expected.length / size));
      const seen: number[] = [];
      for (let page = 0; page < pages; page++) {
        const query = { from, to, page, size, parameters: {} };
        const { items, parametros } = pageOf(all, (at) => at, query, odd ? (at) => at % 2 === 1 : undefined);
        expect(parametros).toEqual({
          paginacao: {
            paginaAtual: page,
            itensPorPagina: size,
            quantidadeDePaginas: pages,
            quantidadeTotalDeItens: expected.length,
          },
        });
        seen.push(...items);
      }
      expect(seen).toEqual(expected);
    }),
  );
});
