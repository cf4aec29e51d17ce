import type {
  CancelInstruction,
  ChargeReport,
  ListOutcome,
  ListWindow,
  Provider,
  QueryOutcome,
  SendOutcome,
} from './provider.ts';

/** Charges with a due date (`cobv` of API Pix). What a payer owes on a day is computed by the provider, and never here. */
export interface DueCharges {
  create(instruction: DueInstruction): Promise<SendOutcome<ChargeReport>>;
  /** As `Provider.queryCharge`. */
  query(txid: string, requestedAt?: number): Promise<QueryOutcome<ChargeReport>>;
  /** Those created in the window; only where the provider lists them. */
  list?(window: ListWindow): Promise<ListOutcome<ChargeReport>>;
  /** As `Provider.cancelCharge`. */
  cancel(instruction: CancelInstruction): Promise<SendOutcome<ChargeReport>>;
}

export interface DueInstruction {
  /** The payment id without hyphens. */
  txid: string;
  amountCents: number;
  terms: DueTerms;
  payer: DuePayer;
  /** May be empty. */
  description: string;
  /** W3C Trace Context of the waiting caller; forwarded unchanged. */
  traceparent?: string | undefined;
}

/** What makes the amount another one than asked for. */
export interface DueTerms {
  /** A day of Brasília, `2026-12-01`. The payer's bank moves one without work to the next one with. */
  dueDate: string;
  /** Calendar days after the due date on which it can still be paid. */
  validAfterDue: number;
  /** Once, after the due date; null: none. */
  fine: Part | null;
  /** For each day after the due date; null: none. */
  interest: Interest | null;
  /** Up to three, all of one type; of those whose day has not passed the first one counts. */
  discounts: readonly Discount[];
  /** Taken off whenever it is paid; null: none. */
  rebate: Part | null;
}

/** `fixed`: cents; `percent`: hundredths of a percent of the amount. */
export interface Part {
  type: 'fixed' | 'percent';
  value: number;
}

export interface Interest {
  /** `fixed_day`: cents a day; the others: hundredths of a percent of the amount. */
  type: (typeof interestTypes)[number];
  value: number;
  days: (typeof interestDays)[number];
}

export const interestTypes = ['fixed_day', 'percent_day', 'percent_month'] as const;
export const interestDays = ['calendar', 'working'] as const;

export interface Discount extends Part {
  /** The last day on which it is given. */
  until: string;
}

/** The payer, whom API Pix wants named with a document. */
export interface DuePayer {
  name: string;
  /** A CPF of 11 digits or a CNPJ of 14 characters, with right check digits. */
  document: string;
  email?: string;
  address?: PayerAddress;
}

export interface PayerAddress {
  street: string;
  city: string;
  /** Two capitals. */
  state: string;
  /** Eight digits. */
  postalCode: string;
}

/** The parts of a received amount as the provider reports them (`componentesValor`), in cents; zero where it names none. */
export interface PaidParts {
  originalCents: number;
  fineCents: number;
  interestCents: number;
  discountCents: number;
  rebateCents: number;
}

export const withoutDueCharges = {
  outcome: 'unclear',
  cause: 'unknownRefusal',
  detail: 'the connection has no due-date charges',
  retryAfterMs: null,
} as const;

/** Asks for a charge of which it is not known whether it has a due date: they share their ids, and not their calls. */
export async function queryAnyCharge(
  provider: Pick<Provider, 'queryCharge' | 'dueCharges'>,
  txid: string,
): Promise<QueryOutcome<ChargeReport>> {
  const found = await provider.queryCharge(txid);
  return found.outcome === 'notFound' && provider.dueCharges ? provider.dueCharges.query(txid) : found;
}
