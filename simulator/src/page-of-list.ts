import { problem, type Reply, type Violation } from './reply.ts';

/** A list's parameters: both ends of the time are inclusive; the page starts at 0. */
export type ListQuery = {
  from: number;
  to: number;
  page: number;
  size: number;
  /** Items before the page, where the caller counts these and no pages. */
  skip?: number;
  parameters: Record<string, unknown>;
};

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Reads inicio, fim and paginacao.* as API Pix 2.9.0 asks; `kind` names the error of a list that is asked wrongly. */
export function readListQuery(
  query: URLSearchParams,
  kind: string,
): { list: ListQuery } | { refusal: Reply } {
  const violations: Violation[] = [];
  const time = (name: string) => {
    const text = query.get(name);
    const at = text !== null && rfc3339.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(at)) violations.push({ razao: 'Deve ser uma data e hora RFC 3339', propriedade: name });
    return { text, at };
  };
  const integer = (name: string, usual: number, least: number, most: number) => {
    const text = query.get(name);
    if (text === null) return usual;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most)) {
      violations.push({ razao: `Deve ser um inteiro de ${least} a ${most}`, propriedade: name, valor: text });
    }
    return value;
  };
  const inicio = time('inicio');
  const fim = time('fim');
  if (fim.at < inicio.at) violations.push({ razao: 'Anterior a inicio', propriedade: 'fim' });
  const page = integer('paginacao.paginaAtual', 0, 0, 999_999_999);
  const size = integer('paginacao.itensPorPagina', 100, 1, 1000);
  if (violations.length > 0) {
    const refusal = problem(
      400,
      kind,
      'Consulta inválida',
      'Os parâmetros da consulta são inválidos.',
      violations,
    );
    return { refusal };
  }
  return {
    list: { from: inicio.at, to: fim.at, page, size, parameters: { inicio: inicio.text, fim: fim.text } },
  };
}

/**
 * One page of a list that is in order of time. Without a filter its cost is that of the page, however long the list
 * is; a filter looks at every item of the asked time, since the answer has to state their number.
 */
export function pageOf<T>(
  all: readonly T[],
  timeOf: (item: T) => number,
  query: ListQuery,
  filter?: (item: T) => boolean,
): { items: T[]; parametros: Record<string, unknown> } {
  const first = firstWith(all, (item) => timeOf(item) >= query.from);
  // A window may lie after what is shown of a list that lags.
  const end = Math.max(
    first,
    firstWith(all, (item) => timeOf(item) > query.to),
  );
  const skipped = query.skip ?? query.page * query.size;
  let total = end - first;
  let items: T[];
  if (filter === undefined) {
    items = all.slice(Math.min(first + skipped, end), Math.min(first + skipped + query.size, end));
  } else {
    items = [];
    total = 0;
    for (let at = first; at < end; at++) {
      const item = all[at] as T;
      if (!filter(item)) continue;
      if (total >= skipped && items.length < query.size) items.push(item);
      total++;
    }
  }
  const paginacao = {
    paginaAtual: query.page,
    itensPorPagina: query.size,
    quantidadeDePaginas: Math.max(1, Math.ceil(total / query.size)),
    quantidadeTotalDeItens: total,
  };
  return { items, parametros: { ...query.parameters, paginacao } };
}

function firstWith<T>(all: readonly T[], holds: (item: T) => boolean): number {
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(all[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
