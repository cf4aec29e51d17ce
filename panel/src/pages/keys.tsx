import { Alert, Button, Checkbox, Modal, SegmentedControl, Switch, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ask } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { Copy, Empty, FormError, PageHead, Rows, Trouble, When } from '../ui/parts.tsx';

const permissions = ['read', 'charges', 'transfers', 'operations', 'webhooks'] as const;
type Permission = (typeof permissions)[number];

interface Key {
  id: string;
  name: string;
  permissions: Permission[];
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
}

type Open = { what: 'create' } | { what: 'roll' | 'revoke'; of: Key } | { what: 'made'; key: string } | null;

const isOver = (key: Key) =>
  key.revokedAt !== null || (key.expiresAt !== null && Date.parse(key.expiresAt) <= Date.now());

export function Keys() {
  const words = useWords();
  const { api, account, may } = useScope();
  const [open, setOpen] = useState<Open>(null);
  const [all, setAll] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: [account.id, 'keys'],
    queryFn: () => ask(() => api.GET('/keys')),
  });
  const keys = (data?.keys ?? []) as Key[];
  const shown = [...keys].reverse().filter((key) => all || !isOver(key));
  const create = may('keys') && (
    <Button leftSection={<Icon name="plus" size={18} />} onClick={() => setOpen({ what: 'create' })}>
      {words.keys.new}
    </Button>
  );
  return (
    <>
      <PageHead title={words.keys.title} lead={words.keys.lead}>
        {create}
      </PageHead>
      <section className="card">
        {error && !data ? (
          <Trouble error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Rows />
        ) : keys.length === 0 ? (
          <Empty icon="key" title={words.keys.empty} lead={words.keys.emptyLead}>
            {create}
          </Empty>
        ) : (
          <>
            {keys.some(isOver) && (
              <Switch
                label={words.keys.showRevoked}
                checked={all}
                onChange={(event) => setAll(event.currentTarget.checked)}
                mb="sm"
              />
            )}
            <ul className="moves">
              {shown.map((key) => (
                <KeyRow key={key.id} of={key} open={setOpen} />
              ))}
            </ul>
          </>
        )}
      </section>
      {open?.what === 'create' && (
        <CreateDialog close={() => setOpen(null)} made={(key) => setOpen({ what: 'made', key })} />
      )}
      {open?.what === 'roll' && (
        <RollDialog of={open.of} close={() => setOpen(null)} made={(key) => setOpen({ what: 'made', key })} />
      )}
      {open?.what === 'revoke' && <RevokeDialog of={open.of} close={() => setOpen(null)} />}
      {open?.what === 'made' && <OnceDialog secret={open.key} close={() => setOpen(null)} />}
    </>
  );
}

function KeyRow({ of, open }: { of: Key; open: (open: Open) => void }) {
  const { words, language } = useText();
  const { may } = useScope();
  const over = isOver(of);
  return (
    <li className="keyrow">
      <div style={{ minWidth: 0 }}>
        <strong>{of.name}</strong>{' '}
        <span
          className={`status ${over ? 'rest' : of.expiresAt ? 'wait' : 'good'}`}
          style={{ marginLeft: 8 }}
        >
          {of.revokedAt
            ? words.keys.revoked
            : over
              ? words.keys.expired
              : of.expiresAt
                ? words.keys.ends(dateTime(of.expiresAt, language))
                : words.keys.active}
        </span>
        <div className="soft" style={{ fontSize: 14 }}>
          <span className="mono">{of.id}</span> ·{' '}
          {of.permissions.map((one) => words.keys.permissionNames[one]).join(', ')}
        </div>
        <div className="soft" style={{ fontSize: 14 }}>
          {words.common.created} <When at={of.createdAt} /> · {words.keys.lastUse}:{' '}
          {of.lastUsedAt ? <When at={of.lastUsedAt} /> : words.common.never}
        </div>
      </div>
      {!over && may('keys') && (
        <div style={{ display: 'flex', gap: 6 }}>
          {of.expiresAt === null && (
            <Button size="sm" variant="default" onClick={() => open({ what: 'roll', of })}>
              {words.keys.roll}
            </Button>
          )}
          <Button size="sm" variant="subtle" color="red" onClick={() => open({ what: 'revoke', of })}>
            {words.keys.revoke}
          </Button>
        </div>
      )}
    </li>
  );
}

function CreateDialog({ close, made }: { close: () => void; made: (key: string) => void }) {
  const words = useWords();
  const { api, account, may } = useScope();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<string[]>(['read', 'charges']);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const body = { name, permissions: permissions.filter((one) => chosen.includes(one)) };
      const { key } = await ask(() => api.POST('/keys', { body }));
      void queries.invalidateQueries({ queryKey: [account.id, 'keys'] });
      made(key);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  }
  return (
    <Modal
      opened
      onClose={close}
      title={words.keys.new}
      closeButtonProps={{ 'aria-label': words.common.close }}
    >
      <form className="stack" onSubmit={submit}>
        <TextInput
          data-autofocus
          label={words.common.name}
          description={words.keys.nameHint}
          maxLength={64}
          required
          withAsterisk={false}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Checkbox.Group label={words.keys.permissions} value={chosen} onChange={setChosen}>
          <div className="stack" style={{ gap: 10, marginTop: 8 }}>
            {permissions.map((one) => (
              <Checkbox
                key={one}
                value={one}
                disabled={one === 'transfers' && !may('transfers')}
                label={words.keys.permissionNames[one]}
                description={words.keys.permissionAbout[one]}
              />
            ))}
          </div>
        </Checkbox.Group>
        {chosen.includes('transfers') && (
          <Alert color="red" variant="light" icon={<Icon name="warning" />}>
            {words.keys.transfersWarning}
          </Alert>
        )}
        <FormError error={error} />
        <Button type="submit" loading={busy} disabled={name.trim() === '' || chosen.length === 0}>
          {words.keys.create}
        </Button>
      </form>
    </Modal>
  );
}

/** The only place where a key can ever be read: it closes by the button alone, and only once somebody says that it is stored. */
function OnceDialog({ secret, close }: { secret: string; close: () => void }) {
  const words = useWords();
  const [stored, setStored] = useState(false);
  return (
    <Modal
      opened
      onClose={() => {}}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={words.keys.onceTitle}
      size="lg"
    >
      <div className="stack">
        <p style={{ margin: 0 }}>{words.keys.onceLead}</p>
        <div className="code" data-testid="new-key">
          {secret}
        </div>
        <Copy value={secret} label={words.common.copy} />
        <Checkbox
          label={words.keys.stored}
          checked={stored}
          onChange={(event) => setStored(event.currentTarget.checked)}
        />
        <Button variant="default" disabled={!stored} onClick={close}>
          {words.keys.done}
        </Button>
      </div>
    </Modal>
  );
}

function RollDialog({ of, close, made }: { of: Key; close: () => void; made: (key: string) => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const queries = useQueryClient();
  const [hours, setHours] = useState('24');
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  async function roll() {
    setBusy(true);
    setError(null);
    try {
      const { key } = await ask(() =>
        api.POST('/keys/{id}/roll', {
          params: { path: { id: of.id } },
          body: { overlapHours: Number(hours) },
        }),
      );
      void queries.invalidateQueries({ queryKey: [account.id, 'keys'] });
      made(key);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  }
  return (
    <Modal
      opened
      onClose={close}
      title={words.keys.rollTitle(of.name)}
      closeButtonProps={{ 'aria-label': words.common.close }}
    >
      <div className="stack">
        <p style={{ margin: 0 }}>{words.keys.rollLead}</p>
        <SegmentedControl
          fullWidth
          aria-label={words.keys.rollLead}
          data={Object.entries(words.keys.overlaps).map(([value, label]) => ({ value, label }))}
          value={hours}
          onChange={setHours}
        />
        <FormError error={error} />
        <Button loading={busy} onClick={() => void roll()}>
          {words.keys.roll}
        </Button>
      </div>
    </Modal>
  );
}

function RevokeDialog({ of, close }: { of: Key; close: () => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  async function revoke() {
    setBusy(true);
    try {
      await ask(() => api.DELETE('/keys/{id}', { params: { path: { id: of.id } }, body: {} }));
      await queries.invalidateQueries({ queryKey: [account.id, 'keys'] });
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
      title={words.keys.revokeTitle(of.name)}
      closeButtonProps={{ 'aria-label': words.common.close }}
    >
      <div className="stack">
        <p style={{ margin: 0 }}>{words.keys.revokeLead}</p>
        <FormError error={error} />
        <div style={{ display: 'flex', gap: 10, justifyContent: 'flex-end' }}>
          <Button variant="default" onClick={close}>
            {words.common.cancel}
          </Button>
          <Button color="red" loading={busy} onClick={() => void revoke()}>
            {words.keys.revoke}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
