import type { PaymentLink, StaticCode } from '@vintem/sdk';
import { type Command, integer, oneOf, required, text } from './command.ts';
import { fields, reais, table } from './output.ts';
import { drawQr } from './qr.ts';

const shownLink = (link: PaymentLink & { requestKey?: string }): string =>
  fields({
    id: link.id,
    title: link.title,
    status: link.status,
    amount: reais(link.amountCents) ?? 'typed by the payer',
    methods: link.methods.join(', '),
    paid: `${link.paidCount} (${reais(link.paidCents)})`,
    of: link.maxPayments === null ? undefined : String(link.maxPayments),
    expires: link.expiresAt ?? undefined,
    requestKey: link.requestKey,
    page: link.url,
  });

const shownCode = (code: StaticCode & { requestKey?: string }): string =>
  fields({
    id: code.id,
    name: code.name,
    status: code.status,
    identifier: code.identifier,
    amount: reais(code.amountCents) ?? 'typed by the payer',
    paid: `${code.paidCount} (${reais(code.paidCents)})`,
    requestKey: code.requestKey,
    code: code.copyPaste,
  });

const created = {
  'amount-cents': { type: 'string' },
  'request-key': { type: 'string' },
} as const;

const methods = ['pix', 'card'] as const;

const fieldRules = ['none', 'optional', 'required'] as const;

/** The first `--limit` rows of a list; 50 by default. */
async function firstOf<Row>(rows: AsyncIterable<Row>, most: number): Promise<Row[]> {
  const found: Row[] = [];
  for await (const row of rows) {
    if (found.length >= most) break;
    found.push(row);
  }
  return found;
}

export const linkCommands: Command[] = [
  {
    name: 'link create',
    usage:
      '--title T [--amount-cents N] [--methods pix|card|pix,card] [--max-payments N] [--expires TIME] [--payer-document optional|required] [--request-key UUID]',
    about: 'a page on which payers make charges of their own; without an amount they type one',
    options: {
      ...created,
      title: { type: 'string' },
      methods: { type: 'string' },
      'max-payments': { type: 'string' },
      expires: { type: 'string' },
      'payer-document': { type: 'string' },
    },
    run: async ({ vintem, values, out, ending }) => {
      const link = {
        title: required(values, 'title'),
        ...(values['amount-cents'] === undefined ? {} : { amountCents: integer(values, 'amount-cents') }),
        ...(values.methods === undefined
          ? {}
          : {
              methods: required(values, 'methods')
                .split(',')
                .map((one) => oneOf(one.trim(), '--methods', methods)),
            }),
        ...(values['max-payments'] === undefined ? {} : { maxPayments: integer(values, 'max-payments') }),
        ...(values.expires === undefined ? {} : { expiresAt: required(values, 'expires') }),
        ...(values['payer-document'] === undefined
          ? {}
          : {
              payerFields: {
                document: oneOf(required(values, 'payer-document'), '--payer-document', fieldRules),
              },
            }),
        requestKey: text(values, 'request-key'),
      };
      const making = vintem.paymentLinks.create(link, { signal: ending });
      const made = await out.progress('asking the service', making);
      out.answer(made, shownLink(made));
      return undefined;
    },
  },
  {
    name: 'link list',
    usage: '[--limit N]',
    about: 'payment links, newest first (50)',
    options: { limit: { type: 'string' } },
    run: async ({ vintem, values, out, ending }) => {
      const most = values.limit === undefined ? 50 : integer(values, 'limit');
      const rows = firstOf(vintem.paymentLinks.list({}, { signal: ending }), most);
      const paymentLinks = await out.progress('reading payment links', rows);
      const lines = paymentLinks.map(({ id, status, paidCount, title }) => [
        id,
        status,
        `${paidCount}`,
        title,
      ]);
      out.answer({ paymentLinks }, table(['id', 'status', 'paid', 'title'], lines));
      return undefined;
    },
  },
  {
    name: 'link show',
    usage: 'ID [--qr]',
    about: 'one payment link as it is now; --qr draws the address of its page',
    options: { qr: { type: 'boolean' } },
    operands: ['ID'],
    run: async ({ vintem, values, operands: [id = ''], out, ending }) => {
      const link = await out.progress('asking the service', vintem.paymentLinks.get(id, { signal: ending }));
      const drawn = values.qr === true && !out.json ? `${drawQr(link.url, process.stdout.isTTY)}\n` : '';
      out.answer(link, drawn + shownLink(link));
      return undefined;
    },
  },
  {
    name: 'link close',
    usage: 'ID',
    about: 'ends a payment link; a code that it gave out can still be paid',
    options: {},
    operands: ['ID'],
    run: async ({ vintem, operands: [id = ''], out, ending }) => {
      const closing = vintem.paymentLinks.update(id, { status: 'disabled' }, { signal: ending });
      const link = await out.progress('asking the service', closing);
      out.answer(link, shownLink(link));
      return undefined;
    },
  },
  {
    name: 'static-code create',
    usage: '--name N [--amount-cents N] [--request-key UUID] [--qr]',
    about: 'a code to print, which is paid as often as payers like; --qr draws it',
    options: { ...created, name: { type: 'string' }, qr: { type: 'boolean' } },
    run: async ({ vintem, values, out, ending }) => {
      const code = {
        name: required(values, 'name'),
        ...(values['amount-cents'] === undefined ? {} : { amountCents: integer(values, 'amount-cents') }),
        requestKey: text(values, 'request-key'),
      };
      const making = vintem.staticCodes.create(code, { signal: ending });
      const made = await out.progress('asking the service', making);
      const drawn =
        values.qr === true && !out.json ? `${drawQr(made.copyPaste, process.stdout.isTTY)}\n` : '';
      out.answer(made, drawn + shownCode(made));
      return undefined;
    },
  },
  {
    name: 'static-code list',
    usage: '[--limit N]',
    about: 'static codes, newest first (50)',
    options: { limit: { type: 'string' } },
    run: async ({ vintem, values, out, ending }) => {
      const most = values.limit === undefined ? 50 : integer(values, 'limit');
      const rows = firstOf(vintem.staticCodes.list({}, { signal: ending }), most);
      const staticCodes = await out.progress('reading static codes', rows);
      const lines = staticCodes.map(({ id, status, paidCount, name }) => [id, status, `${paidCount}`, name]);
      out.answer({ staticCodes }, table(['id', 'status', 'paid', 'name'], lines));
      return undefined;
    },
  },
  {
    name: 'static-code show',
    usage: 'ID [--qr]',
    about: 'one static code as it is now; --qr draws it',
    options: { qr: { type: 'boolean' } },
    operands: ['ID'],
    run: async ({ vintem, values, operands: [id = ''], out, ending }) => {
      const code = await out.progress('asking the service', vintem.staticCodes.get(id, { signal: ending }));
      const drawn =
        values.qr === true && !out.json ? `${drawQr(code.copyPaste, process.stdout.isTTY)}\n` : '';
      out.answer(code, drawn + shownCode(code));
      return undefined;
    },
  },
  {
    name: 'static-code retire',
    usage: 'ID',
    about: 'retires a static code: take its paper down, since what is printed can still be paid',
    options: {},
    operands: ['ID'],
    run: async ({ vintem, operands: [id = ''], out, ending }) => {
      const retiring = vintem.staticCodes.update(id, { status: 'retired' }, { signal: ending });
      const code = await out.progress('asking the service', retiring);
      out.answer(code, shownCode(code));
      return undefined;
    },
  },
];
