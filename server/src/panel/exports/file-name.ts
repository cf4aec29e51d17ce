import type { Language } from '../../ground/errors.ts';
import { dayOf } from '../../operate/statement/period.ts';

const kinds = {
  charges: 'cobrancas',
  transfers: 'transferencias',
  payments: 'pagamentos',
  statement: 'extrato',
  journal: 'lancamentos',
  closes: 'fechamentos',
  operations: 'operacoes',
  events: 'eventos',
  requests: 'requisicoes',
  deliveries: 'entregas',
  keys: 'chaves',
  people: 'pessoas',
  activity: 'atividade',
  incidents: 'incidentes',
} as const;

export type FileKind = keyof typeof kinds;

export interface FileFacts {
  accountName: string;
  /** Null: all operations, or the file is not about one. */
  operationName: string | null;
  kind: FileKind;
  /** ISO 8601; the period is [from, to). */
  from: string | undefined;
  to: string | undefined;
  now: number;
}

/** `padaria-estrela-transferencias-2026-11-01-a-2026-11-20.csv`: files of several accounts and periods lie in one folder. Days of Brasília. */
export function fileName(facts: FileFacts, language: Language, ending: 'csv' | 'ofx' | 'pdf'): string {
  const { accountName, operationName, kind, from, to, now } = facts;
  const english = language === 'en';
  const last = dayOf(to === undefined ? now : Math.min(now, Date.parse(to) - 1));
  const period =
    from === undefined
      ? [english ? 'until' : 'ate', last]
      : [dayOf(Date.parse(from)), english ? 'to' : 'a', last];
  const parts = [slugOf(accountName), slugOf(operationName ?? ''), english ? kind : kinds[kind], ...period];
  return `${parts.filter(Boolean).join('-')}.${ending}`;
}

/** ASCII letters, digits and hyphens only: the name stands in a header. */
const slugOf = (name: string): string =>
  name
    .normalize('NFD')
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-|-$/g, '');
