import { Alert, Badge, Button, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, type Overview, Problem } from '../api/client.ts';
import { useOverview, useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { ListFoot } from '../ui/listed.tsx';
import { Copy, FormError, Money, PageHead, Rows, TechnicalIds, Trouble, When } from '../ui/parts.tsx';

type Operation = Overview['operations'][number];
type Open = { what: 'create' } | { what: 'rename' | 'delete'; operation: Operation } | null;

export function Operations() {
  const words = useWords();
  const { may } = useScope();
  const { data, error, refetch } = useOverview(true);
  const [open, setOpen] = useState<Open>(null);
  const manage = may('operations');
  return (
    <>
      <PageHead title={words.operations.title} lead={words.operations.lead}>
        {data && <span className="soft num">{words.operations.limit(data.operations.length)}</span>}
        {manage && (
          <Button
            leftSection={<Icon name="plus" size={18} />}
            disabled={!data || data.operations.length >= 10}
            onClick={() => setOpen({ what: 'create' })}
          >
            {words.operations.new}
          </Button>
        )}
      </PageHead>
      {error && !data ? (
        <Trouble error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Rows />
      ) : (
        <>
          <div className="cols">
            {data.operations.map((operation) => (
              <OperationCard key={operation.id} operation={operation} manage={manage} open={setOpen} />
            ))}
          </div>
          <ListFoot file="operations.csv" />
        </>
      )}
      {open && open.what !== 'delete' && (
        <NameDialog
          operation={open.what === 'rename' ? open.operation : null}
          names={data?.operations.map((one) => one.name) ?? []}
          close={() => setOpen(null)}
        />
      )}
      {open?.what === 'delete' && <DeleteDialog operation={open.operation} close={() => setOpen(null)} />}
    </>
  );
}

function OperationCard({
  operation,
  manage,
  open,
}: {
  operation: Operation;
  /** Whether who looks may rename and delete. */
  manage: boolean;
  open: (dialog: Open) => void;
}) {
  const words = useWords();
  return (
    <section className="card" aria-label={operation.name}>
      <div className="cardhead">
        <h2>{operation.name}</h2>
        {operation.isDefault && (
          <Badge variant="light" color="cobre" tt="none">
            {words.common.main}
          </Badge>
        )}
      </div>
      <p className="big" style={{ fontSize: 28, margin: '0 0 10px' }}>
        <Money cents={operation.availableCents - operation.receivableCents} />
      </p>
      <dl className="facts" style={{ marginBottom: 16 }}>
        <dt>{words.home.reserved}</dt>
        <dd>
          <Money cents={operation.reservedCents} />
        </dd>
        <dt>{words.home.held}</dt>
        <dd>
          <Money cents={operation.heldCents} />
        </dd>
        <dt>{words.common.created}</dt>
        <dd>
          <When at={operation.createdAt} />
        </dd>
      </dl>
      <TechnicalIds>
        <dt>{words.operations.idLabel}</dt>
        <dd>
          <span className="mono">{operation.id}</span> <Copy value={operation.id} />
        </dd>
      </TechnicalIds>
      <div style={{ display: 'flex', gap: 8, flexWrap: 'wrap' }}>
        <Button
          renderRoot={(props) => <Link to="/extrato" search={{ operacao: operation.id }} {...props} />}
          variant="default"
          size="sm"
        >
          {words.operations.statement}
        </Button>
        {manage && (
          <>
            <Button variant="subtle" size="sm" onClick={() => open({ what: 'rename', operation })}>
              {words.operations.rename}
            </Button>
            <Button
              variant="subtle"
              color="red"
              size="sm"
              onClick={() => open({ what: 'delete', operation })}
            >
              {words.operations.delete}
            </Button>
          </>
        )}
      </div>
    </section>
  );
}

function NameDialog({
  operation,
  names,
  close,
}: {
  operation: Operation | null;
  names: string[];
  close: () => void;
}) {
  const words = useWords();
  const { api, account } = useScope();
  const [name, setName] = useState(operation?.name ?? '');
  const [requestKey] = useState(() => crypto.randomUUID());
  const twice = names.some((one) => one === name.trim() && one !== operation?.name);
  const save = useAction(
    async () => {
      if (operation) {
        await ask(() =>
          api.PATCH('/operations/{id}', { params: { path: { id: operation.id } }, body: { name } }),
        );
      } else await ask(() => api.POST('/operations', { body: { name, requestKey } }));
      close();
    },
    { rereads: [[account.id]] },
  );
  return (
    <Dialog title={operation ? words.operations.rename : words.operations.new} close={close}>
      <form className="stack" onSubmit={save.submit}>
        <TextInput
          data-autofocus
          label={words.common.name}
          description={words.operations.nameHint}
          minLength={2}
          maxLength={64}
          required
          withAsterisk={false}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={twice ? words.operations.duplicate : null}
        />
        <FormError error={save.error} />
        <Button type="submit" loading={save.busy} disabled={name.trim().length < 2}>
          {operation ? words.common.save : words.operations.create}
        </Button>
      </form>
    </Dialog>
  );
}

/** Shows a block before asking, as far as the balance shows it; the service has the last word. */
function DeleteDialog({ operation, close }: { operation: Operation; close: () => void }) {
  const words = useWords();
  const { api, account, operationId, chooseOperation } = useScope();
  const { data } = useOverview(true);
  const remove = useAction(
    async () => {
      await ask(() => api.DELETE('/operations/{id}', { params: { path: { id: operation.id } }, body: {} }));
      if (operationId === operation.id) chooseOperation(null);
      close();
    },
    { rereads: [[account.id]] },
  );
  const blocked =
    remove.error instanceof Problem && words.operations.blocked[remove.error.code] ? remove.error.code : null;
  const reasons = new Set([
    ...(operation.availableCents !== 0 || operation.receivableCents !== 0 ? ['operation_has_balance'] : []),
    ...(operation.heldCents !== 0 ? ['operation_on_hold'] : []),
    ...(operation.reservedCents !== 0 ? ['operation_has_unfinished_payments'] : []),
    ...((data?.operations.length ?? 2) < 2 ? ['last_operation'] : []),
    ...(blocked ? [blocked] : []),
  ]);
  return (
    <Dialog title={words.operations.deleteTitle(operation.name)} close={close}>
      <div className="stack">
        {reasons.size > 0 ? (
          <Alert
            color="yellow"
            variant="light"
            role="alert"
            title={words.operations.blockedTitle}
            icon={<Icon name="warning" />}
          >
            <ul style={{ margin: 0, paddingLeft: 18 }}>
              {[...reasons].map((reason) => (
                <li key={reason}>{words.operations.blocked[reason]}</li>
              ))}
            </ul>
          </Alert>
        ) : (
          <p style={{ margin: 0 }}>{words.operations.deleteLead}</p>
        )}
        <FormError error={blocked ? null : remove.error} />
        <div style={{ display: 'flex', gap: 10, justifyContent: 'flex-end' }}>
          <Button variant="default" onClick={close}>
            {words.common.cancel}
          </Button>
          <Button color="red" loading={remove.busy} disabled={reasons.size > 0} onClick={() => remove.run()}>
            {words.operations.deleteConfirm}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
