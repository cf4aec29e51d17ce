/** The terms of a charge with a due date, its payer, and the parts of what paid it. */

/** The terms that make the amount another one than asked for. */
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

/** The terms of a charge as its provider shows them. */
export interface ShownTerms {
  terms: DueTerms;
  /** Raised with each change (`revisao`); null: it is not said. */
  revision: number | null;
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
  /** The `bairro`. */
  neighborhood?: string;
}

/** A charge with a due date as it is asked for. */
export interface DueAsked {
  terms: DueTerms;
  payer: DuePayer;
}

/**
 * Limits of a provider that does not take every charge with a due date. A charge that it cannot say as it is meant is refused before anything is recorded: a near meaning is
 * another amount.
 */
export interface DueTermsOffer {
  /** Why it cannot be made there; null: it can. Pure. */
  refusal(asked: DueAsked, now: number): 'terms' | 'address' | null;
  /** An open charge can get other terms. */
  changes: boolean;
}

/** The parts of a received amount as the provider reports them (`componentesValor`), in cents; zero where it names none. */
export interface PaidParts {
  originalCents: number;
  fineCents: number;
  interestCents: number;
  discountCents: number;
  rebateCents: number;
}
