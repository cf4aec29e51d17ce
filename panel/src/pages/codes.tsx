import { Button, TextInput } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { Listed, MoreFoot } from '../ui/listed.tsx';
import { useNewForm } from '../ui/new-form.ts';
import { useSources } from '../ui/of-source.tsx';
import { OperationField } from '../ui/operation-field.tsx';
import { Empty, FormError, MoneyInput, PageHead } from '../ui/parts.tsx';
import { Segments } from '../ui/segments.tsx';
import { SourceTable } from '../ui/source-table.tsx';

/** The static codes of the operations shown, newest first. */
export function Codes() {
  const words = useWords();
  const { api, may } = useScope();
  const {
    pages,
    rows: codes,
    names,
  } = useSources('static-codes', async (operationId, cursor) => {
    const page = await ask(() =>
      api.GET('/static-codes', {
        params: { query: { limit: 30, ...(cursor && { cursor }) } },
        headers: { 'x-service-operation': operationId },
      }),
    );
    return { rows: page.staticCodes, nextCursor: page.nextCursor };
  });
  const create = may('charges') && (
    <Button component={Link} to="/qr-fixos/novo" leftSection={<Icon name="plus" size={18} />}>
      {words.codes.new}
    </Button>
  );
  return (
    <>
      <PageHead title={words.codes.title} lead={words.codes.lead}>
        {codes.length > 0 && create}
      </PageHead>
      <section className="card" aria-label={words.codes.title}>
        <Listed
          pages={pages}
          count={codes.length}
          noMatch={null}
          empty={
            <Empty icon="print" title={words.codes.empty} lead={words.codes.emptyLead}>
              {create}
            </Empty>
          }
        >
          <SourceTable
            to="/qr-fixos/$id"
            heads={words.codes}
            names={names}
            rows={codes.map((code) => ({
              ...code,
              amount: code.amountCents === null ? words.codes.anyAmount : money(code.amountCents),
              status: (
                <span className={`status ${code.status === 'active' ? 'good' : 'rest'}`}>
                  {words.codes.states[code.status]}
                </span>
              ),
              payments: code.paidCount,
            }))}
          />
          <MoreFoot pages={pages} />
        </Listed>
      </section>
    </>
  );
}

export function NewCode() {
  const words = useWords();
  const { api, account } = useScope();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [kind, setKind] = useState<'open' | 'fixed'>('open');
  const [cents, setCents] = useState(0);
  const lacks = kind === 'fixed' && cents === 0;
  const form = useNewForm({
    async make({ requestKey, headers }) {
      const body = { name, ...(kind === 'fixed' && { amountCents: cents }), requestKey };
      const code = await ask(() => api.POST('/static-codes', { body, headers }));
      await navigate({
        to: '/qr-fixos/$id',
        params: { id: code.id },
        search: { operacao: code.operationId },
        replace: true,
      });
    },
    rereads: [[account.id, 'static-codes']],
    lacks,
  });

  return (
    <>
      <PageHead title={words.codes.new} back={{ to: '/qr-fixos', label: words.codes.title }} />
      <form className="card stack narrow" onSubmit={form.submit} onInvalid={form.lacking}>
        <TextInput
          label={words.codes.name}
          description={words.codes.nameAbout}
          placeholder={words.codes.nameHint}
          minLength={2}
          maxLength={64}
          required
          withAsterisk={false}
          autoFocus
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <div className="field">
          <Segments
            label={words.codes.kind}
            data={[
              { value: 'open', label: words.codes.open },
              { value: 'fixed', label: words.codes.fixed },
            ]}
            value={kind}
            onChoice={setKind}
          />
          {kind === 'fixed' && (
            <MoneyInput
              ref={form.amount}
              label={words.common.amount}
              cents={cents}
              onCents={setCents}
              error={form.sent && lacks ? words.common.amountMissing : null}
            />
          )}
        </div>
        <OperationField value={form.operation} onValue={form.chooseOperation} />
        <FormError error={form.create.error} />
        <Button type="submit" size="md" loading={form.create.busy}>
          {words.codes.create}
        </Button>
      </form>
    </>
  );
}
