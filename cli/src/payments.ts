import type { DueChargeChanges, NewDueCharge, Payment, PaymentFilter, PaymentStatus } from '@vintem/sdk';
import { VintemError } from '@vintem/sdk';
import {
  type Command,
  type Context,
  exitCodes,
  integer,
  oneOf,
  required,
  text,
  UsageFault,
} from './command.ts';
import { fields, reais, table } from './output.ts';
import { drawQr } from './qr.ts';

const statuses = [
  'draft',
  'unknown',
  'pending',
  'paid',
  'completed',
  'failed',
  'expired',
  'cancelled',
] as const;
const finals: readonly PaymentStatus[] = ['paid', 'completed', 'failed', 'expired', 'cancelled'];
const keyTypes = ['EMAIL', 'CPF', 'CNPJ', 'PHONE', 'RANDOM'] as const;

const shown = (payment: Payment & { requestKey?: string }): string =>
  fields({
    id: payment.id,
    kind: payment.kind === 'deposit' ? 'charge' : 'transfer',
    status: payment.reasonCode ? `${payment.status} (${payment.reasonCode})` : payment.status,
    amount: reais(payment.amountCents),
    fee: reais(payment.feeCents),
    net: reais(payment.netAmountCents ?? payment.expectedNetAmountCents),
    created: payment.createdAt,
    due: payment.dueDate,
    paid: reais(payment.amountPaidCents),
    expires: payment.expiresAt ?? undefined,
    checkout: payment.checkoutUrl,
    card: payment.card
      ? `${payment.card.brand} ${payment.card.last4 ?? ''} ${payment.card.status}`
      : undefined,
    release: payment.cardSettlementStatus === 'held' ? payment.releaseAt : undefined,
    settled: payment.settledAt ?? undefined,
    endToEnd: payment.endToEnd,
    requestKey: payment.requestKey,
    notice: payment.notice,
    code: payment.copyPaste,
  });

/** The members that have a value. */
const given = (members: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(members).filter((one): one is [string, string] => one[1] !== undefined));

/** Waits in turns, so that Ctrl-C and a long wait both end well. */
async function untilFinal({ vintem, out, ending }: Context, id: string): Promise<Payment> {
  for (;;) {
    try {
      const waiting = vintem.payments.waitFor(id, { until: finals, timeoutMs: 3_600_000, signal: ending });
      return await out.progress(`waiting for ${id}`, waiting);
    } catch (error) {
      if (!(error instanceof VintemError) || error.code !== 'wait_timeout') throw error;
    }
  }
}

const exitOf = ({ status }: Payment): number =>
  status === 'paid' || status === 'completed' ? exitCodes.done : exitCodes.failed;

/** Creation, then the wait when it is wanted. */
async function create(
  context: Context,
  work: () => Promise<Payment & { requestKey: string }>,
  code: (payment: Payment) => string,
): Promise<number | undefined> {
  const { out, values } = context;
  const made = await out.progress('asking the service', work());
  if (values.wait !== true) {
    out.answer(made, code(made) + shown(made));
    return undefined;
  }
  // The code is shown before the wait, the rest once it has ended.
  if (!out.json)
    out.note(`${code(made)}${made.id} is ${made.status}${made.copyPaste ? `\n${made.copyPaste}` : ''}`);
  const ended = { ...(await untilFinal(context, made.id)), requestKey: made.requestKey };
  out.answer(ended, shown(ended));
  return exitOf(ended);
}

const minutesOf = (values: Context['values']): { expiresInMinutes?: number } =>
  values['expires-in-minutes'] === undefined
    ? {}
    : { expiresInMinutes: integer(values, 'expires-in-minutes') };

/** A charge, whose code is drawn when `--qr` is given. */
const createCharge = (context: Context, work: () => Promise<Payment & { requestKey: string }>) => {
  const draws = context.values.qr === true && !context.out.json;
  return create(context, work, (made) => (draws ? qrOf(made) : ''));
};

function qrOf({ copyPaste }: Payment): string {
  if (copyPaste === undefined) return 'the provider has not given a code yet: see payments show\n\n';
  return `${drawQr(copyPaste, process.stdout.isTTY)}\n`;
}

const partTypes = ['fixed', 'percent'] as const;
const interestTypes = ['fixed_day', 'percent_day', 'percent_month'] as const;

/** `percent:200` */
function partOf<Type extends string>(
  name: string,
  given: string,
  types: readonly Type[],
): { type: Type; value: number } {
  const [type, value = ''] = given.split(':');
  return { type: oneOf(type, `--${name}`, types), value: integer({ [name]: value }, name) };
}

/** The terms that are given; `none` takes one away. */
function dueChangesOf(values: Context['values']): DueChargeChanges {
  const [fine, interest, discount, rebate] = ['fine', 'interest', 'discount', 'rebate'].map((name) =>
    text(values, name),
  );
  const part = (name: string, given: string) => (given === 'none' ? null : partOf(name, given, partTypes));
  return {
    ...(values['amount-cents'] !== undefined && { amountCents: integer(values, 'amount-cents') }),
    ...(values['due-date'] !== undefined && { dueDate: required(values, 'due-date') }),
    ...(values['valid-after-due'] !== undefined && { validAfterDue: integer(values, 'valid-after-due') }),
    ...(fine !== undefined && { fine: part('fine', fine) }),
    ...(interest !== undefined && {
      interest:
        interest === 'none'
          ? null
          : { ...partOf('interest', interest, interestTypes), days: 'calendar' as const },
    }),
    ...(discount !== undefined && { discounts: discountsOf(discount) }),
    ...(rebate !== undefined && { rebate: part('rebate', rebate) }),
  };
}

function discountsOf(given: string): NonNullable<DueChargeChanges['discounts']> {
  if (given === 'none') return [];
  const [until = '', ...rest] = given.split(':');
  return [{ until, ...partOf('discount', rest.join(':'), partTypes) }];
}

function dueChargeOf(values: Context['values']): NewDueCharge {
  const { fine, interest, rebate, ...terms } = dueChangesOf(values);
  return {
    ...terms,
    amountCents: integer(values, 'amount-cents'),
    payer: { name: required(values, 'payer'), document: required(values, 'document') },
    dueDate: required(values, 'due-date'),
    description: text(values, 'description') ?? '',
    requestKey: text(values, 'request-key'),
    ...(fine && { fine }),
    ...(interest && { interest }),
    ...(rebate && { rebate }),
  };
}

export const paymentCommands: Command[] = [
  {
    name: 'charges create',
    usage:
      '--amount-cents N --payer NAME [--description D] [--expires-in-minutes N] [--request-key UUID] [--qr] [--wait]',
    about: 'a Pix charge; --qr draws its code, --wait waits for its end (exit code 1 when it is not paid)',
    options: {
      'amount-cents': { type: 'string' },
      payer: { type: 'string' },
      description: { type: 'string' },
      'expires-in-minutes': { type: 'string' },
      'request-key': { type: 'string' },
      qr: { type: 'boolean' },
      wait: { type: 'boolean' },
    },
    run: (context) => {
      const { vintem, values, ending } = context;
      const charge = {
        amountCents: integer(values, 'amount-cents'),
        payerName: required(values, 'payer'),
        description: text(values, 'description') ?? '',
        requestKey: text(values, 'request-key'),
        ...minutesOf(values),
      };
      return createCharge(context, () => vintem.charges.create(charge, { signal: ending }));
    },
  },
  {
    name: 'due-charges create',
    usage:
      '--amount-cents N --payer NAME --document CPF|CNPJ --due-date DAY [--valid-after-due N] [--fine fixed:N|percent:N] [--interest TYPE:N] [--discount DAY:TYPE:N] [--rebate TYPE:N] [--description D] [--request-key UUID] [--qr] [--wait]',
    about:
      'a Pix charge with a due date, as 2026-12-10; N is cents for fixed and fixed_day, and hundredths of a percent for percent, percent_day and percent_month',
    options: {
      'amount-cents': { type: 'string' },
      payer: { type: 'string' },
      document: { type: 'string' },
      'due-date': { type: 'string' },
      'valid-after-due': { type: 'string' },
      fine: { type: 'string' },
      interest: { type: 'string' },
      discount: { type: 'string' },
      rebate: { type: 'string' },
      description: { type: 'string' },
      'request-key': { type: 'string' },
      qr: { type: 'boolean' },
      wait: { type: 'boolean' },
    },
    run: (context) => {
      const { vintem, values, ending } = context;
      const charge = dueChargeOf(values);
      return createCharge(context, () => vintem.dueCharges.create(charge, { signal: ending }));
    },
  },
  {
    name: 'due-charges update',
    usage:
      'ID [--amount-cents N] [--due-date DAY] [--valid-after-due N] [--fine fixed:N|percent:N|none] [--interest TYPE:N|none] [--discount DAY:TYPE:N|none] [--rebate TYPE:N|none]',
    about:
      'changes a charge with a due date that is not paid; it stays as it was until its provider has confirmed the change, and may be repeated',
    options: {
      'amount-cents': { type: 'string' },
      'due-date': { type: 'string' },
      'valid-after-due': { type: 'string' },
      fine: { type: 'string' },
      interest: { type: 'string' },
      discount: { type: 'string' },
      rebate: { type: 'string' },
    },
    operands: ['ID'],
    run: async ({ vintem, values, operands: [id = ''], out, ending }) => {
      const charge = await out.progress(
        'asking the service',
        vintem.dueCharges.update(id, dueChangesOf(values), { signal: ending }),
      );
      out.answer(charge, shown(charge));
      return undefined;
    },
  },
  {
    name: 'cards create',
    usage:
      '--amount-cents N --payer NAME [--description D] [--expires-in-minutes N] [--success-url U] [--cancel-url U] [--payer-document D] [--payer-email E] [--payer-phone P] [--request-key UUID] [--wait]',
    about: 'a charge that is paid by card on the page of an acquirer; shows the address for its payer',
    options: {
      'amount-cents': { type: 'string' },
      payer: { type: 'string' },
      description: { type: 'string' },
      'expires-in-minutes': { type: 'string' },
      'success-url': { type: 'string' },
      'cancel-url': { type: 'string' },
      'payer-document': { type: 'string' },
      'payer-email': { type: 'string' },
      'payer-phone': { type: 'string' },
      'request-key': { type: 'string' },
      wait: { type: 'boolean' },
    },
    run: (context) => {
      const { vintem, values, ending } = context;
      const payer = given({
        document: text(values, 'payer-document'),
        email: text(values, 'payer-email'),
        phone: text(values, 'payer-phone'),
      });
      const checkout = {
        amountCents: integer(values, 'amount-cents'),
        payerName: required(values, 'payer'),
        description: text(values, 'description') ?? '',
        requestKey: text(values, 'request-key'),
        ...minutesOf(values),
        ...given({ successUrl: text(values, 'success-url'), cancelUrl: text(values, 'cancel-url') }),
        ...(Object.keys(payer).length > 0 && { payer }),
      };
      return create(
        context,
        () => vintem.cardCheckouts.create(checkout, { signal: ending }),
        () => '',
      );
    },
  },
  {
    name: 'cards expire',
    usage: 'ID',
    about:
      'closes the page of a card payment that is not paid; it stays pending until its acquirer has closed it, and may be repeated',
    options: {},
    operands: ['ID'],
    run: async ({ vintem, operands: [id = ''], out, ending }) => {
      const charge = await out.progress(
        'asking the service',
        vintem.cardCheckouts.expire(id, { signal: ending }),
      );
      out.answer(charge, shown(charge));
      return undefined;
    },
  },
  {
    name: 'charges cancel',
    usage: 'ID',
    about:
      'takes back a charge that is not paid; it stays pending until its provider has removed it, and may be repeated',
    options: {},
    operands: ['ID'],
    run: async ({ vintem, operands: [id = ''], out, ending }) => {
      const charge = await out.progress('asking the service', vintem.charges.cancel(id, { signal: ending }));
      out.answer(charge, shown(charge));
      return undefined;
    },
  },
  {
    name: 'transfers create',
    usage: '--amount-cents N --pix-key K --pix-key-type T [--description D] [--request-key UUID] [--wait]',
    about:
      'sends a Pix at once; after exit code 4 repeat it with the --request-key that was shown, or it may be paid twice',
    options: {
      'amount-cents': { type: 'string' },
      'pix-key': { type: 'string' },
      'pix-key-type': { type: 'string' },
      description: { type: 'string' },
      'request-key': { type: 'string' },
      wait: { type: 'boolean' },
    },
    run: (context) => {
      const { vintem, values, ending } = context;
      const transfer = {
        amountCents: integer(values, 'amount-cents'),
        pixKey: required(values, 'pix-key'),
        pixKeyType: oneOf(text(values, 'pix-key-type'), '--pix-key-type', keyTypes),
        description: text(values, 'description'),
        requestKey: text(values, 'request-key'),
      };
      return create(
        context,
        () => vintem.transfers.create(transfer, { signal: ending }),
        () => '',
      );
    },
  },
  {
    name: 'payments list',
    usage:
      '[--status S,…] [--kind charge|transfer] [--from TIME] [--to TIME] [--request-key UUID] [--limit N]',
    about: 'payments, newest first (50)',
    options: {
      status: { type: 'string' },
      kind: { type: 'string' },
      from: { type: 'string' },
      to: { type: 'string' },
      'request-key': { type: 'string' },
      limit: { type: 'string' },
    },
    run: async ({ vintem, values, out, ending }) => {
      const most = values.limit === undefined ? 50 : integer(values, 'limit');
      const status = text(values, 'status')
        ?.split(',')
        .map((each) => oneOf(each, '--status', statuses));
      const kind = text(values, 'kind');
      const filter: PaymentFilter = {
        ...(status ? { status } : {}),
        ...(kind
          ? { kind: oneOf(kind, '--kind', ['charge', 'transfer']) === 'charge' ? 'deposit' : 'transfer' }
          : {}),
        ...(values['request-key'] ? { requestKey: required(values, 'request-key') } : {}),
        from: text(values, 'from'),
        to: text(values, 'to'),
        limit: Math.max(1, Math.min(most, 100)),
      };
      const payments: Payment[] = [];
      const reading = async (): Promise<void> => {
        for await (const payment of vintem.payments.list(filter, { signal: ending })) {
          if (payments.length >= most) return;
          payments.push(payment);
        }
      };
      await out.progress('reading payments', reading());
      const rows = payments.map(({ id, kind, status, amountCents, createdAt }) => [
        id,
        kind === 'deposit' ? 'charge' : kind,
        status,
        (reais(amountCents) ?? '').padStart(13),
        createdAt,
      ]);
      out.answer({ payments }, table(['id', 'kind', 'status', '       amount', 'created'], rows));
      return undefined;
    },
  },
  {
    name: 'payments show',
    usage: 'ID [--qr]',
    about: 'one payment as it is now; --qr draws the code of a pending charge',
    options: { qr: { type: 'boolean' } },
    operands: ['ID'],
    run: async ({ vintem, values, operands: [id = ''], out, ending }) => {
      const payment = await out.progress('asking the service', vintem.payments.get(id, { signal: ending }));
      out.answer(payment, (values.qr === true ? qrOf(payment) : '') + shown(payment));
      return undefined;
    },
  },
  {
    name: 'payments watch',
    usage: 'ID',
    about: 'waits until a payment is paid or completed (exit code 0), or failed, expired or cancelled (1)',
    options: {},
    operands: ['ID'],
    run: async (context) => {
      const [id = ''] = context.operands;
      if (id === '') throw new UsageFault('needs ID');
      const payment = await untilFinal(context, id);
      context.out.answer(payment, shown(payment));
      return exitOf(payment);
    },
  },
];
