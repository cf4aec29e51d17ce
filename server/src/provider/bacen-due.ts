import { centsOf, reaisOf } from '../ground/money.ts';
import {
  type Discount,
  type DueTerms,
  type Interest,
  interestDays,
  interestTypes,
  type Part,
  type ShownTerms,
} from './due-terms.ts';
import type { DueChange, DueInstruction } from './provider.ts';
import { cut } from './wire.ts';

/** Charges with a due date of API Pix 2.9.0 (`cobv`): their bodies, and the terms that an answer shows. */

/**
 * `CobVSolicitada`. Here `devedor` is demanded, with a document. An amount and a percentage have the same form: two places behind the point.
 * Dates and percentages go out as they were asked for: what they come to on a day is for the provider to say.
 */
export function dueBody({ amountCents, terms, payer, description }: DueInstruction, pixKey: string): unknown {
  const text = cut(description, 200);
  return {
    ...termsBody(amountCents, terms),
    devedor: debtorOf(payer),
    chave: pixKey,
    ...(text === ''
      ? {}
      : {
          solicitacaoPagador: cut(text, 140),
          infoAdicionais: [{ nome: 'Descrição', valor: text }],
        }),
  };
}

/**
 * `CobVRevisada` with all terms. The specification leaves open whether a part that is absent is kept or taken away, so one that is taken away is named as nothing:
 * it means the same either way.
 */
export function changeBody({ amountCents, terms, before }: DueChange): unknown {
  const nothing: Part = { type: 'fixed', value: 0 };
  const kept = <T>(after: T | null, was: unknown, none: T): T | null => after ?? (was === null ? null : none);
  const { dueDate, fine, interest, rebate, discounts } = terms;
  return termsBody(amountCents, {
    ...terms,
    fine: kept(fine, before.fine, nothing),
    interest: kept<Interest>(interest, before.interest, { type: 'fixed_day', value: 0, days: 'calendar' }),
    rebate: kept(rebate, before.rebate, nothing),
    discounts:
      discounts.length === 0 && before.discounts.length > 0 ? [{ ...nothing, until: dueDate }] : discounts,
  });
}

const termsBody = (amountCents: number, terms: DueTerms) => ({
  calendario: { dataDeVencimento: terms.dueDate, validadeAposVencimento: terms.validAfterDue },
  valor: {
    original: reaisOf(amountCents),
    ...(terms.fine && { multa: rateOf(terms.fine) }),
    ...(terms.interest && {
      juros: {
        modalidade: interestModes[terms.interest.days][terms.interest.type],
        valorPerc: reaisOf(terms.interest.value),
      },
    }),
    ...(terms.rebate && { abatimento: rateOf(terms.rebate) }),
    ...(terms.discounts.length > 0 && {
      desconto: {
        modalidade: modeOf(terms.discounts[0] as Part),
        descontoDataFixa: terms.discounts.map(({ until, value }) => ({
          data: until,
          valorPerc: reaisOf(value),
        })),
      },
    }),
  },
});

const modeOf = ({ type }: Part): number => (type === 'fixed' ? 1 : 2);
const rateOf = (part: Part) => ({ modalidade: modeOf(part), valorPerc: reaisOf(part.value) });

const interestModes = {
  calendar: { fixed_day: 1, percent_day: 2, percent_month: 3 },
  working: { fixed_day: 5, percent_day: 6, percent_month: 7 },
} as const;

export const debtorOf = ({ name, document, email, address }: DueInstruction['payer']) => ({
  ...(document.length === 11 ? { cpf: document } : { cnpj: document }),
  nome: cut(name, 200),
  ...(email !== undefined && { email }),
  ...(address && {
    logradouro: cut(
      [address.street, address.neighborhood].filter((part) => part !== undefined).join(', '),
      200,
    ),
    cidade: cut(address.city, 200),
    uf: address.state,
    cep: address.postalCode,
  }),
});

/** An answer about a charge with a due date, as far as its terms go. */
interface Cobv {
  calendario?: { dataDeVencimento?: unknown; validadeAposVencimento?: unknown } | null;
  valor?: { multa?: unknown; juros?: unknown; abatimento?: unknown; desconto?: unknown } | null;
  revisao?: unknown;
}

/** The terms of an answer; nothing where it is of a charge without a due date, or where a part cannot be read or is none that is offered here. */
export function shownTermsIn({ calendario, valor, revisao }: Cobv): { due?: ShownTerms } {
  const { dataDeVencimento: dueDate, validadeAposVencimento: valid = 30 } = calendario ?? {};
  if (typeof dueDate !== 'string' || !Number.isSafeInteger(Number(valid))) return {};
  const fine = partIn(valor?.multa);
  const interest = interestIn(valor?.juros);
  const rebate = partIn(valor?.abatimento);
  const discounts = discountsIn(valor?.desconto);
  if (fine === undefined || interest === undefined || rebate === undefined || discounts === undefined)
    return {};
  const terms = { dueDate, validAfterDue: Number(valid), fine, interest, discounts, rebate };
  return { due: { terms, revision: Number.isSafeInteger(revisao) ? (revisao as number) : null } };
}

/** Null: none, or one of nothing. Undefined: it cannot be read. */
function rateIn(value: unknown): { mode: number; value: number } | null | undefined {
  if (value == null) return null;
  const { modalidade, valorPerc } = value as { modalidade?: unknown; valorPerc?: unknown };
  const cents = centsOf(valorPerc);
  if (cents === 0) return null;
  return cents === null ? undefined : { mode: Number(modalidade), value: cents };
}

const typeOf = (mode: number): Part['type'] | undefined =>
  mode === 1 ? 'fixed' : mode === 2 ? 'percent' : undefined;

function partIn(value: unknown): Part | null | undefined {
  const rate = rateIn(value);
  const type = rate && typeOf(rate.mode);
  return rate && (type === undefined ? undefined : { type: type as Part['type'], value: rate.value });
}

function interestIn(value: unknown): Interest | null | undefined {
  const rate = rateIn(value);
  if (!rate) return rate;
  for (const days of interestDays)
    for (const type of interestTypes)
      if (interestModes[days][type] === rate.mode) return { type, value: rate.value, days };
  return undefined;
}

function discountsIn(value: unknown): Discount[] | undefined {
  if (value == null) return [];
  const { modalidade, descontoDataFixa } = value as { modalidade?: unknown; descontoDataFixa?: unknown };
  const type = typeOf(Number(modalidade));
  if (type === undefined || !Array.isArray(descontoDataFixa)) return undefined;
  const discounts: Discount[] = [];
  for (const one of descontoDataFixa) {
    const { data: until, valorPerc } = (one ?? {}) as { data?: unknown; valorPerc?: unknown };
    const cents = centsOf(valorPerc);
    if (typeof until !== 'string' || cents === null) return undefined;
    if (cents > 0) discounts.push({ until, type, value: cents });
  }
  return discounts.sort((one, other) => (one.until < other.until ? -1 : 1));
}
