import { Button, NumberInput, Textarea, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { momentOf } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useTakesCard } from '../ui/amount-range.ts';
import { Choice } from '../ui/choice.tsx';
import { useNewForm } from '../ui/new-form.ts';
import { OperationField } from '../ui/operation-field.tsx';
import { FormError, MoneyInput, PageHead } from '../ui/parts.tsx';
import { Segments } from '../ui/segments.tsx';

const ways = ['pix', 'both', 'card'] as const;
const methodsOf: Record<(typeof ways)[number], ('pix' | 'card')[]> = {
  pix: ['pix'],
  both: ['pix', 'card'],
  card: ['card'],
};
const nameRules = ['optional', 'required', 'none'] as const;

/** The content of the form; an amount of zero is one that was not typed. */
const empty = {
  title: '',
  description: '',
  amount: 'fixed' as 'fixed' | 'open',
  cents: 0,
  minimum: 0,
  maximum: 0,
  way: 'pix' as (typeof ways)[number],
  times: 'once' as 'once' | 'many' | 'some',
  stock: 10,
  ends: '',
  payerName: 'optional' as (typeof nameRules)[number],
  payerDocument: 'none' as (typeof nameRules)[number],
  successUrl: '',
};
type Fields = typeof empty;

function bodyOf(fields: Fields, requestKey: string) {
  const { title, description, amount, cents, minimum, maximum, way, times, stock, ends, successUrl } = fields;
  // An empty field is a time to one browser's reader of times.
  const endsAt = ends === '' ? null : momentOf(ends);
  return {
    title,
    ...(description !== '' && { description }),
    ...(amount === 'fixed'
      ? { amountCents: cents }
      : { ...(minimum > 0 && { minimumCents: minimum }), ...(maximum > 0 && { maximumCents: maximum }) }),
    methods: methodsOf[way],
    maxPayments: times === 'once' ? 1 : times === 'many' ? null : stock,
    ...(endsAt !== null && { expiresAt: new Date(endsAt).toISOString() }),
    payerFields: { name: fields.payerName, document: fields.payerDocument },
    ...(successUrl !== '' && { successUrl }),
    requestKey,
  };
}

export function NewLink() {
  const words = useWords();
  const { api, account } = useScope();
  const navigate = useNavigate();
  const [fields, setFields] = useState(empty);
  const set = (some: Partial<Fields>) => setFields((before) => ({ ...before, ...some }));
  const takesCard = useTakesCard();
  const lacks = fields.amount === 'fixed' && fields.cents === 0;
  const form = useNewForm({
    async make({ requestKey, headers }) {
      const body = bodyOf(fields, requestKey);
      const link = await ask(() => api.POST('/payment-links', { body, headers }));
      await navigate({
        to: '/links/$id',
        params: { id: link.id },
        search: { operacao: link.operationId },
        replace: true,
      });
    },
    rereads: [[account.id, 'payment-links']],
    lacks,
  });

  return (
    <>
      <PageHead title={words.links.new} back={{ to: '/links', label: words.links.title }} />
      <form className="card stack narrow" onSubmit={form.submit} onInvalid={form.lacking}>
        <TextInput
          label={words.links.name}
          placeholder={words.links.nameHint}
          minLength={2}
          maxLength={100}
          required
          withAsterisk={false}
          autoFocus
          autoComplete="off"
          value={fields.title}
          onChange={(event) => set({ title: event.currentTarget.value })}
        />
        <div className="field">
          <Segments
            label={words.links.kind}
            data={[
              { value: 'fixed', label: words.links.fixed },
              { value: 'open', label: words.links.open },
            ]}
            value={fields.amount}
            onChoice={(kind) => set({ amount: kind })}
          />
          {fields.amount === 'fixed' ? (
            <MoneyInput
              ref={form.amount}
              label={words.common.amount}
              cents={fields.cents}
              onCents={(cents) => set({ cents })}
              error={form.sent && lacks ? words.common.amountMissing : null}
            />
          ) : (
            <div className="fieldpair">
              <MoneyInput
                label={`${words.links.minimum} (${words.common.optional})`}
                cents={fields.minimum}
                onCents={(minimum) => set({ minimum })}
              />
              <MoneyInput
                label={`${words.links.maximum} (${words.common.optional})`}
                cents={fields.maximum}
                onCents={(maximum) => set({ maximum })}
              />
            </div>
          )}
        </div>
        {takesCard && (
          <div className="field">
            <span className="fieldname">{words.links.methods}</span>
            <Segments
              label={words.links.methods}
              data={ways.map((value) => ({ value, label: words.links.ways[value] }))}
              value={fields.way}
              onChoice={(way) => set({ way })}
            />
            {fields.way !== 'pix' && (
              <p className="soft" style={{ margin: 0, fontSize: 14 }}>
                {words.links.cardHint}
              </p>
            )}
          </div>
        )}
        <div className="field">
          <span className="fieldname">{words.links.times}</span>
          <Segments
            label={words.links.times}
            data={(['once', 'many', 'some'] as const).map((value) => ({ value, label: words.links[value] }))}
            value={fields.times}
            onChoice={(times) => set({ times })}
          />
          {fields.times === 'some' && (
            <NumberInput
              label={words.links.stock}
              min={2}
              max={100_000}
              hideControls
              required
              withAsterisk={false}
              allowDecimal={false}
              allowNegative={false}
              value={fields.stock}
              onChange={(value) => set({ stock: Number(value) })}
            />
          )}
        </div>
        <details className="technical">
          <summary>{words.links.more}</summary>
          <div className="stack">
            <Textarea
              label={`${words.links.description} (${words.common.optional})`}
              maxLength={500}
              autosize
              minRows={2}
              value={fields.description}
              onChange={(event) => set({ description: event.currentTarget.value })}
            />
            <TextInput
              type="datetime-local"
              label={`${words.links.ends} (${words.common.optional})`}
              value={fields.ends}
              onChange={(event) => set({ ends: event.currentTarget.value })}
            />
            <Choice
              label={words.links.payerName}
              data={nameRules.map((value) => ({ value, label: words.links.payerNames[value] }))}
              value={fields.payerName}
              onChoice={(value) => set({ payerName: nameRules.find((rule) => rule === value) ?? 'optional' })}
            />
            <Choice
              label={words.links.payerDocument}
              data={nameRules.map((value) => ({ value, label: words.links.payerNames[value] }))}
              value={fields.payerDocument}
              onChoice={(value) => set({ payerDocument: nameRules.find((rule) => rule === value) ?? 'none' })}
            />
            <TextInput
              type="url"
              label={`${words.links.successUrl} (${words.common.optional})`}
              description={words.links.successUrlHint}
              placeholder="https://"
              pattern="https://.*"
              maxLength={500}
              value={fields.successUrl}
              onChange={(event) => set({ successUrl: event.currentTarget.value.trim() })}
            />
          </div>
        </details>
        <OperationField value={form.operation} onValue={form.chooseOperation} />
        <FormError error={form.create.error} />
        <Button type="submit" size="md" loading={form.create.busy}>
          {words.links.create}
        </Button>
      </form>
    </>
  );
}
