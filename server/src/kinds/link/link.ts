import { type Static, Type } from 'typebox';
import { Cents, NullableTime, OneOf, Time, Uuid } from '../../ground/schema.ts';
import { MetadataShown } from '../../money/metadata.ts';
import type { Payment } from '../../money/payment.ts';
import type { Ids } from '../../ports/ids.ts';
import { type EventType, eventRow, events } from '../../store/events/event.ts';
import {
  fieldRules,
  type LinkStatus,
  linkKey,
  linkStatuses,
  type PaymentLink,
  paymentLinks,
} from '../../store/rows/payment-links.sql.ts';
import { put, type View, type Write } from '../../store/till.ts';
import { linkMethods, methodsOf } from './methods.ts';

/** Charges of one link that wait for their payers at a time. */
export const openChargesMost = 20;

/** Its state at a moment: the loop that ends links runs some seconds after their time. */
export const statusAt = ({ status, expiresAt }: PaymentLink, now: number): LinkStatus =>
  status === 'active' && expiresAt !== null && expiresAt <= now ? 'expired' : status;

/**
 * How many more charges it may make. A stock counts what is paid and what may still be: none of it is sold twice. A link for one payment is no stock:
 * a payer who opened it and went away keeps no other payer from paying, and what is paid beside the first one is reported as overpaid.
 * Null: no stock limits it.
 */
export function leftOf({ maxPayments, paidCount, openCount }: PaymentLink): number | null {
  if (maxPayments === null) return null;
  if (maxPayments === 1) return paidCount > 0 ? 0 : 1;
  return Math.max(0, maxPayments - paidCount - openCount);
}

/** Whether it was paid as often as it may be. */
export const isSold = ({ maxPayments, paidCount }: Pick<PaymentLink, 'maxPayments' | 'paidCount'>): boolean =>
  maxPayments !== null && paidCount >= maxPayments;

const isOpen = (status: Payment['status']): boolean => status === 'unknown' || status === 'pending';

/** The link after a charge of it entered another state, and what that is to the merchant. Pure. */
export function afterCharge(
  link: PaymentLink,
  before: Pick<Payment, 'status'>,
  after: Pick<Payment, 'status' | 'amountCents' | 'updatedAt'>,
): { link: PaymentLink; events: EventType[] } {
  const ended = isOpen(before.status) && !isOpen(after.status) ? 1 : 0;
  const paid = before.status !== 'paid' && after.status === 'paid' ? 1 : 0;
  if (ended + paid === 0) return { link, events: [] };
  const paidCount = link.paidCount + paid;
  const isComplete = paid > 0 && isSold({ ...link, paidCount });
  // A merchant may have closed it after it was sold: it was reported then.
  const wasComplete = link.status === 'completed' || (link.status === 'disabled' && isSold(link));
  const completes = isComplete && !wasComplete;
  const overpaid = isComplete && paidCount > (link.maxPayments ?? 0);
  return {
    link: {
      ...link,
      openCount: link.openCount - ended,
      paidCount,
      paidCents: link.paidCents + paid * after.amountCents,
      status: completes ? 'completed' : link.status,
      updatedAt: Math.max(link.updatedAt, after.updatedAt),
    },
    events: [
      ...(completes ? (['payment_link.completed'] as const) : []),
      ...(overpaid ? (['payment_link.overpaid'] as const) : []),
    ],
  };
}

/** The writes for the link of a charge that entered another state; none where the charge has no link. */
export function linkWrites(
  view: View,
  before: Payment,
  after: Payment,
  { ids, livemode, silent = false }: { ids: Pick<Ids, 'uuid'>; livemode: boolean; silent?: boolean },
): Write[] {
  if (before.paymentLinkId === null || before.status === after.status) return [];
  const link = view.get(paymentLinks, linkKey(before.accountId, before.paymentLinkId));
  if (!link) return [];
  const step = afterCharge(link, before, after);
  if (step.link === link) return [];
  return [
    put(paymentLinks, step.link),
    // A deleted operation is invisible.
    ...(silent ? [] : step.events).map((type) => put(events, linkEvent(ids, livemode, step.link, type))),
  ];
}

/** @param link as it is after the change */
export const linkEvent = (ids: Pick<Ids, 'uuid'>, livemode: boolean, link: PaymentLink, type: EventType) =>
  eventRow(ids, {
    accountId: link.accountId,
    operationId: link.operationId,
    paymentId: null,
    type,
    livemode,
    change: null,
    data: viewOfLink(link, link.updatedAt),
    at: link.updatedAt,
  });

const example = {
  id: '01939f3a-7a00-7000-8000-000000000091',
  operationId: '01939f3a-7a00-7000-8000-000000000003',
  title: 'Curso de cerâmica',
  description: 'Turma de sábado',
  amountCents: 25000,
  methods: ['pix', 'card'],
  maxPayments: 12,
  payerFields: { name: 'required', document: 'none' },
  expiresAt: '2026-12-05T02:59:59.000Z',
  successUrl: null,
  status: 'active',
  openCount: 1,
  paidCount: 3,
  paidCents: 75000,
  createdAt: '2026-11-20T20:43:18.000Z',
  updatedAt: '2026-11-21T14:02:10.120Z',
};

const OptionalCents = (description: string) => Type.Optional(Cents(description, { minimum: 1 }));

/** Of an event: the address stands in the API's answers alone. */
export const LinkSnapshotSchema = Type.Object(
  {
    id: Uuid('Id of the payment link'),
    operationId: Uuid('Business operation that its charges belong to'),
    title: Type.String({ description: 'Title on its page' }),
    description: Type.String({ description: 'Text below the title; may be empty' }),
    amountCents: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      description: 'Amount; null: the payer types it',
    }),
    minimumCents: OptionalCents('Least amount that a payer may type'),
    maximumCents: OptionalCents('Greatest amount that a payer may type'),
    methods: Type.Array(OneOf(linkMethods, 'Method'), { description: 'How it can be paid' }),
    maxPayments: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      description: 'After so many payments it is completed; null: without a limit',
    }),
    payerFields: Type.Object(
      {
        name: OneOf(fieldRules, 'Name of the payer'),
        document: OneOf(fieldRules, 'CPF or CNPJ of the payer'),
      },
      { description: 'What its page asks the payer for' },
    ),
    expiresAt: NullableTime('When it ends; null: it does not'),
    successUrl: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Where its page leads after the payment',
    }),
    status: OneOf(linkStatuses, 'active: it makes charges'),
    openCount: Type.Integer({ minimum: 0, description: 'Its charges that wait for their payers' }),
    paidCount: Type.Integer({ minimum: 0, description: 'Payments that it has brought' }),
    paidCents: Cents('What they were together, before fees and refunds', { minimum: 0 }),
    createdAt: Time('Creation'),
    updatedAt: Time('Last change or payment'),
    metadata: Type.Optional(MetadataShown),
  },
  { title: 'PaymentLinkSnapshot', examples: [example] },
);

export const PaymentLinkSchema = Type.Object(
  {
    ...LinkSnapshotSchema.properties,
    url: Type.String({ format: 'uri', description: 'Its page, for payers' }),
  },
  {
    title: 'PaymentLink',
    examples: [
      { ...example, url: 'https://pay.example.com/pay/AcUJn2rTq0mXv3h1dEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE' },
    ],
  },
);

/** @param now what has ended by its time is shown as ended */
export function viewOfLink(link: PaymentLink, now: number): Static<typeof LinkSnapshotSchema> {
  const { id, operationId, title, description, amountCents, minimumCents, maximumCents, maxPayments } = link;
  const { successUrl, openCount, paidCount, paidCents, metadata, expiresAt } = link;
  return {
    ...{ id, operationId, title, description, amountCents, maxPayments, successUrl },
    ...(minimumCents === null ? {} : { minimumCents }),
    ...(maximumCents === null ? {} : { maximumCents }),
    methods: methodsOf(link),
    payerFields: { name: link.nameField, document: link.documentField },
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    status: statusAt(link, now),
    ...{ openCount, paidCount, paidCents },
    createdAt: new Date(link.createdAt).toISOString(),
    updatedAt: new Date(link.updatedAt).toISOString(),
    ...(metadata === null ? {} : { metadata }),
  };
}
