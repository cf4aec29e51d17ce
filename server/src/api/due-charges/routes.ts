import type { Static } from 'typebox';
import type { ApiScope } from '../../edge/edge.ts';
import { refuseFields } from '../../ground/errors.ts';
import { IdParams } from '../../ground/schema.ts';
import { documentOf } from '../../kinds/due/terms.ts';
import type { DueFields } from '../../kinds/due-change/admission.ts';
import { type DueChargeOrder, dueCharge } from '../../kinds/due-charge/due-charge.ts';
import { dueChargeExamples } from '../../kinds/payment/examples.ts';
import { PaymentSchema } from '../../kinds/payment/schema.ts';
import { viewWithCode } from '../../kinds/payment/view.ts';
import { fiscalDocumentsOf } from '../../money/fiscal-documents.ts';
import type { Discount, Interest, Part } from '../../provider/due-terms.ts';
import { type ChargeCells, chargeFacts, created } from '../charges/answer.ts';
import { changeDueCharge } from './change.ts';
import { DueChangeBody, DueChargeBody } from './schema.ts';

export function dueChargeRoutes(api: ApiScope, cellOf: ChargeCells): void {
  api.post(
    '/pix/due-charges',
    {
      schema: {
        tags: ['Charges'],
        summary: 'Create a Pix charge with a due date',
        body: DueChargeBody,
        response: { 201: PaymentSchema },
      },
      config: { api: { ...chargeFacts, creates: true, examples: dueChargeExamples } },
    },
    async (request, reply) =>
      reply.code(201).send(await created(cellOf, request, reply, dueCharge, orderOf(request.body))),
  );

  api.patch(
    '/pix/due-charges/:id',
    {
      schema: {
        tags: ['Charges'],
        summary: 'Change amount, dates or terms of a charge with a due date that is not paid',
        params: IdParams('Id of the charge'),
        body: DueChangeBody,
        response: { 200: PaymentSchema },
      },
      config: { api: chargeFacts },
    },
    async (request) => {
      const { caller, params, body } = request;
      const cell = cellOf(request);
      const payment = await changeDueCharge(cell, caller, params.id, fieldsOf(body));
      return viewWithCode(payment, cell.pages, request.language);
    },
  );
}

const validUsually = 30;

/** With their members in one order, so that the same change is one whatever order they come in. */
function fieldsOf({ discounts, fine, interest, rebate, ...given }: Static<typeof DueChangeBody>): DueFields {
  const { amountCents, dueDate, validAfterDue } = given;
  return {
    ...(amountCents !== undefined && { amountCents }),
    ...(dueDate !== undefined && { dueDate }),
    ...(validAfterDue !== undefined && { validAfterDue }),
    ...(fine !== undefined && { fine: partOf(fine) }),
    ...(interest !== undefined && { interest: interestOf(interest) }),
    ...(discounts !== undefined && { discounts: discountsOf(discounts) }),
    ...(rebate !== undefined && { rebate: partOf(rebate) }),
  };
}

const partOf = (given: Part | null | undefined): Part | null =>
  given ? { type: given.type, value: given.value } : null;

const interestOf = (given: Interest | null | undefined): Interest | null =>
  given ? { type: given.type, value: given.value, days: given.days } : null;

const discountsOf = (given: readonly Discount[]): Discount[] =>
  given
    .toSorted((one, other) => (one.until < other.until ? -1 : 1))
    .map(({ until, type, value }) => ({ until, type, value }));

/** With its members in one order, so that a repeat may give them in another. @throws ApiError `validation_failed` */
function orderOf(body: Static<typeof DueChargeBody>): DueChargeOrder {
  const { amountCents, payer, dueDate, description = '', requestKey, metadata } = body;
  const { validAfterDue = validUsually, fine, interest, discounts = [], rebate } = body;
  const document = documentOf(payer.document);
  if (document === null) throw refuseFields([{ field: 'payer.document', code: 'invalid_format' }]);
  const fiscalDocuments = fiscalDocumentsOf(body.fiscalDocuments);
  const { name, email, address } = payer;
  if (body.reminders && email === undefined) throw refuseFields([{ field: 'payer.email', code: 'required' }]);
  return {
    ...{ amountCents, payerName: name, description, requestKey },
    payer: {
      ...{ name, document, ...(email !== undefined && { email }) },
      ...(address && {
        address: {
          ...{ street: address.street, city: address.city },
          ...{ state: address.state, postalCode: address.postalCode },
          ...(address.neighborhood !== undefined && { neighborhood: address.neighborhood }),
        },
      }),
    },
    terms: {
      ...{ dueDate, validAfterDue, fine: partOf(fine), interest: interestOf(interest) },
      ...{ discounts: discountsOf(discounts), rebate: partOf(rebate) },
    },
    ...(body.reminders && { reminders: true as const }),
    ...(metadata && { metadata }),
    ...(fiscalDocuments && { fiscalDocuments }),
  };
}
