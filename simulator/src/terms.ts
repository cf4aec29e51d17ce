/** The prices of a provider, and its rule for a payout beyond the balance. */
export type Terms = {
  /** Its fee, kept from a received Pix, in cents. */
  received(amountCents: number): number;
  /** Its fee for a payout beside the amount, in cents. */
  sent(amountCents: number): number;
  /** `refuse`: in the answer. `hold`: it waits for a person. `cancel`: it is taken, and cancelled a moment later. */
  beyondBalance: 'refuse' | 'hold' | 'cancel';
  /** The cents that a new account may pay out by API in a day, and the fate of more. Absent: no document says. */
  newAccount?: { dayCents: number; beyond: 'refuse' | 'fail' };
  /** It reports the parts of what paid a charge with a due date (`componentesValor`). */
  saysParts: boolean;
};

const share = (amountCents: number, basisPoints: number): number =>
  Math.round((amountCents * basisPoints) / 10_000);

const within = (cents: number, least: number, most: number): number => Math.min(Math.max(cents, least), most);

/** 1.19 % of what comes in; of what goes out 1.19 %, at least R$ 0.50. */
const efi: Terms = {
  received: (cents) => share(cents, 119),
  sent: (cents) => Math.max(50, share(cents, 119)),
  beyondBalance: 'refuse',
  // R$ 1.00 in an account Empresas (dev.efipay.com.br, envio de Pix); more is taken, and ends without a reason.
  newAccount: { dayCents: 100, beyond: 'fail' },
  // The strict schema of its client 2.0.1 has no place for them.
  saysParts: false,
};

/** 0.80 % of a charge, from R$ 0.50 to R$ 5.00; a payout costs R$ 1.00. */
const woovi: Terms = {
  received: (cents) => Math.min(cents, within(share(cents, 80), 50, 500)),
  sent: () => 100,
  beyondBalance: 'hold',
  // The amount is ours: Woovi sets one for each account.
  newAccount: { dayCents: 100, beyond: 'refuse' },
  saysParts: false,
};

/** Inter agrees its tariffs with each company: these amounts are ours, the form is its statement's. */
const inter: Terms = {
  received: (cents) => Math.min(cents, 40),
  sent: () => 60,
  beyondBalance: 'cancel',
  saysParts: true,
};

/** Stark agrees its fees with each company: these amounts are ours. A transfer beyond the balance is taken, and fails. */
const stark: Terms = {
  received: (cents) => Math.min(cents, 50),
  sent: () => 200,
  beyondBalance: 'cancel',
  saysParts: false,
};

/** R$ 0.99 of what comes in, R$ 2.00 of what goes out: prices of its site without a plan; each account has its own. */
const asaas: Terms = {
  received: (cents) => Math.min(cents, 99),
  sent: () => 200,
  beyondBalance: 'refuse',
  saysParts: false,
};

/** A bank that says nothing of its costs by API Pix. */
const free: Terms = { received: () => 0, sent: () => 0, beyondBalance: 'refuse', saysParts: true };

/** By name: what a bank keeps of itself is plain data. */
export const terms = { efi, woovi, inter, stark, asaas, free };
export type TermsName = keyof typeof terms;
