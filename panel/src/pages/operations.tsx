import { Alert, Badge, Button, Modal, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { ask, type Overview, Problem } from '../api/client.ts';
import { useOverview, useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { Copy, FormError, Money, PageHead, Rows, Trouble, When } from '../ui/parts.tsx';

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
        <div className="cols">
          {data.operations.map((operation) => (
            <section key={operation.id} className="card" aria-label={operation.name}>
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
                <dt>Id</dt>
                <dd>
                  <span className="mono">{operation.id}</span> <Copy value={operation.id} />
                </dd>
              </dl>
              <div style={{ display: 'flex', gap: 8, flexWrap: 'wrap' }}>
                <Button
                  renderRoot={(props) => (
                    <Link to="/extrato" search={{ operacao: operation.id }} {...props} />
                  )}
                  variant="default"
                  size="sm"
                >
                  {words.operations.statement}
                </Button>
                {manage && (
                  <>
                    <Button variant="subtle" size="sm" onClick={() => setOpen({ what: 'rename', operation })}>
                      {words.operations.rename}
                    </Button>
                    <Button
                      variant="subtle"
                      color="red"
                      size="sm"
                      onClick={() => setOpen({ what: 'delete', operation })}
                    >
                      {words.operations.delete}
                    </Button>
                  </>
                )}
              </div>
            </section>
          ))}
        </div>
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
  const queries = useQueryClient();
  const [name, setName] = useState(operation?.name ?? '');
  const [requestKey] = useState(() => crypto.randomUUID());
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const twice = names.some((one) => one === name.trim() && one !== operation?.name);
  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      if (operation) {
        await ask(() =>
          api.PATCH('/operations/{id}', { params: { path: { id: operation.id } }, body: { name } }),
        );
      } else await ask(() => api.POST('/operations', { body: { name, requestKey } }));
      await queries.invalidateQueries({ queryKey: [account.id] });
      close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  }
  return (
    <Modal
      opened
      onClose={close}
      title={operation ? words.operations.rename : words.operations.new}
      closeButtonProps={{ 'aria-label': words.common.close }}
    >
      <form className="stack" onSubmit={submit}>
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
        <FormError error={error} />
        <Button type="submit" loading={busy} disabled={name.trim().length < 2}>
          {operation ? words.common.save : words.operations.create}
        </Button>
      </form>
    </Modal>
  );
}

/** What blocks is known before asking, as far as the balance tells; the service has the last word. */
function DeleteDialog({ operation, close }: { operation: Operation; close: () => void }) {
  const words = useWords();
  const { api, account, operationId, chooseOperation } = useScope();
  const queries = useQueryClient();
  const { data } = useOverview(true);
  const [blocked, setBlocked] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const reasons = new Set([
    ...(operation.availableCents !== 0 || operation.receivableCents !== 0 ? ['operation_has_balance'] : []),
    ...(operation.heldCents !== 0 ? ['operation_on_hold'] : []),
    ...(operation.reservedCents !== 0 ? ['operation_has_unfinished_payments'] : []),
    ...((data?.operations.length ?? 2) < 2 ? ['last_operation'] : []),
    ...(blocked ? [blocked] : []),
  ]);
  async function remove() {
    setBusy(true);
    setError(null);
    try {
      await ask(() => api.DELETE('/operations/{id}', { params: { path: { id: operation.id } }, body: {} }));
      if (operationId === operation.id) chooseOperation(null);
      await queries.invalidateQueries({ queryKey: [account.id] });
      close();
    } catch (problem) {
      if (problem instanceof Problem && words.operations.blocked[problem.code]) setBlocked(problem.code);
      else setError(problem);
      setBusy(false);
    }
  }
  return (
    <Modal
      opened
      onClose={close}
      title={words.operations.deleteTitle(operation.name)}
      closeButtonProps={{ 'aria-label': words.common.close }}
    >
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
        <FormError error={error} />
        <div style={{ display: 'flex', gap: 10, justifyContent: 'flex-end' }}>
          <Button variant="default" onClick={close}>
            {words.common.cancel}
          </Button>
          <Button color="red" loading={busy} disabled={reasons.size > 0} onClick={() => void remove()}>
            {words.operations.deleteConfirm}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
