import { Alert, Button, Checkbox, NativeSelect, Switch, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Dialog, OnceDialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { ListFoot } from '../ui/listed.tsx';
import { Empty, FormError, PageHead, Rows, Trouble, When } from '../ui/parts.tsx';
import { Segments } from '../ui/segments.tsx';

const permissions = [
  'read',
  'charges',
  'transfers',
  'refunds',
  'operations',
  'webhooks',
  'simulate',
  'disputes',
] as const;
type Permission = (typeof permissions)[number];

/** Only who may do it gives it to a key. */
const decidesOfMoney: ReadonlySet<Permission> = new Set(['transfers', 'refunds', 'disputes']);

interface Key {
  id: string;
  name: string;
  permissions: Permission[];
  ips: string[];
  createdAt: string;
  expiresAt: string | null;
  rolledTo: string | null;
  revokedAt: string | null;
  createdByName: string | null;
  makerLeft: boolean;
  lastUsedAt: string | null;
  lastUsedIp: string | null;
}

type Open =
  | { what: 'create' }
  | { what: 'roll' | 'revoke' | 'narrow'; of: Key }
  | { what: 'made'; key: string }
  | null;

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
            {shown.length === 0 && <p className="soft">{words.keys.noneActive}</p>}
            <ul className="moves">
              {shown.map((key) => (
                <KeyRow key={key.id} of={key} open={setOpen} />
              ))}
            </ul>
            <ListFoot file="keys.csv" />
          </>
        )}
      </section>
      {open?.what === 'create' && (
        <CreateDialog close={() => setOpen(null)} made={(key) => setOpen({ what: 'made', key })} />
      )}
      {open?.what === 'roll' && (
        <RollDialog of={open.of} close={() => setOpen(null)} made={(key) => setOpen({ what: 'made', key })} />
      )}
      {open?.what === 'narrow' && <NarrowDialog of={open.of} close={() => setOpen(null)} />}
      {open?.what === 'revoke' && <RevokeDialog of={open.of} close={() => setOpen(null)} />}
      {open?.what === 'made' && (
        <OnceDialog
          title={words.keys.onceTitle}
          lead={words.keys.onceLead}
          secret={open.key}
          testId="new-key"
          stored={words.keys.stored}
          close={() => setOpen(null)}
        />
      )}
    </>
  );
}

function KeyRow({ of, open }: { of: Key; open: (open: Open) => void }) {
  const words = useWords();
  const { may } = useScope();
  const over = isOver(of);
  return (
    <li className="keyrow">
      <div style={{ minWidth: 0 }}>
        <strong>{of.name}</strong>{' '}
        <span
          className={`status ${over ? 'rest' : of.rolledTo ? 'wait' : 'good'}`}
          style={{ marginLeft: 8, whiteSpace: 'normal' }}
        >
          {of.revokedAt
            ? words.keys.revoked
            : over
              ? words.keys.expired
              : of.expiresAt
                ? (of.rolledTo ? words.keys.replaced : words.keys.ends)(dateTime(of.expiresAt))
                : words.keys.active}
        </span>
        <div className="soft" style={{ fontSize: 14 }}>
          <span className="mono">{of.id}</span> ·{' '}
          {of.permissions.map((one) => words.keys.permissionNames[one]).join(', ')}
        </div>
        <div className="soft" style={{ fontSize: 14 }}>
          {words.common.created} <When at={of.createdAt} />
          {of.createdByName && <> ({words.keys.madeBy(of.createdByName)})</>} · {words.keys.lastUse}:{' '}
          {of.lastUsedAt ? <When at={of.lastUsedAt} /> : words.common.never}
          {of.lastUsedIp && <span className="num"> {words.keys.usedFrom(of.lastUsedIp)}</span>}
        </div>
        {of.ips.length > 0 && (
          <div className="soft num" style={{ fontSize: 14 }}>
            {words.keys.onlyFrom(of.ips.join(', '))}
          </div>
        )}
        {of.makerLeft && !over && (
          <div style={{ fontSize: 14 }}>
            <span className="status wait" style={{ whiteSpace: 'normal' }}>
              {words.keys.makerLeft}
            </span>
          </div>
        )}
      </div>
      {!over && may('keys') && (
        <div style={{ display: 'flex', gap: 6, flexWrap: 'wrap' }}>
          {of.permissions.length > 1 && (
            <Button size="sm" variant="subtle" onClick={() => open({ what: 'narrow', of })}>
              {words.keys.narrow}
            </Button>
          )}
          {of.rolledTo === null && (
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
  const form = useNewKey(made);
  return (
    <Dialog title={words.keys.new} close={close}>
      <form className="stack" onSubmit={form.create.submit}>
        <TextInput
          data-autofocus
          label={words.common.name}
          description={words.keys.nameHint}
          maxLength={64}
          required
          withAsterisk={false}
          autoComplete="off"
          value={form.name}
          onChange={(event) => form.setName(event.currentTarget.value)}
        />
        <PermissionsField chosen={form.chosen} choose={form.setChosen} />
        {form.moves && (
          <Alert color="red" variant="light" icon={<Icon name="warning" />}>
            {words.keys.transfersWarning}
            {form.factorMissing && <strong> {words.keys.needsFactor}</strong>}
          </Alert>
        )}
        <NativeSelect
          label={words.keys.lives}
          description={words.keys.livesHint}
          data={['30', '90', '180', '365', '0'].map((value) => ({
            value,
            label: words.keys.lifetimes[value] ?? value,
          }))}
          value={form.lives}
          onChange={(event) => form.setDays(event.currentTarget.value)}
        />
        <Textarea
          label={`${words.keys.ips} (${words.common.optional})`}
          description={words.keys.ipsHint}
          autosize
          minRows={2}
          maxRows={6}
          spellCheck={false}
          value={form.ipText}
          onChange={(event) => form.setIpText(event.currentTarget.value)}
          error={form.ipError}
        />
        <FormError error={form.create.error} />
        <Button type="submit" loading={form.create.busy} disabled={!form.complete}>
          {words.keys.create}
        </Button>
      </form>
    </Dialog>
  );
}

/** The content of the form, and its submission. */
function useNewKey(made: (key: string) => void) {
  const words = useWords();
  const { api, account, session } = useScope();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<string[]>(['read', 'charges']);
  const [days, setDays] = useState<string | null>(null);
  const [ipText, setIpText] = useState('');
  const moves = chosen.includes('transfers');
  // A key that can empty a balance ends by itself, unless a person chooses otherwise.
  const lives = days ?? (moves ? '365' : '0');
  const ips = ipText.split(/[\s,;]+/).filter((one) => one !== '');
  const wrongIp = ips.find((one) => !looksLikeNetwork(one));
  const ipError = wrongIp ? words.keys.ipsInvalid(wrongIp) : ips.length > 20 ? words.keys.ipsMany : null;
  const factorMissing = moves && !account.test && !session.secondFactor;
  const create = useAction(
    async () => {
      const body = {
        name,
        permissions: permissions.filter((one) => chosen.includes(one)),
        ...(lives !== '0' && { expiresInDays: Number(lives) }),
        ...(ips.length > 0 && { ips }),
      };
      const { key } = await ask(() => api.POST('/keys', { body }));
      made(key);
    },
    { rereads: [[account.id, 'keys']] },
  );
  return {
    name,
    setName,
    chosen,
    setChosen,
    /** The key sends money. */
    moves,
    factorMissing,
    /** In days; '0': it does not end. */
    lives,
    setDays,
    ipText,
    setIpText,
    ipError,
    complete: name.trim() !== '' && chosen.length > 0 && ipError === null && !factorMissing,
    create,
  };
}

function PermissionsField({ chosen, choose }: { chosen: string[]; choose: (chosen: string[]) => void }) {
  const words = useWords();
  const { account, may } = useScope();
  return (
    <Checkbox.Group label={words.keys.permissions} value={chosen} onChange={choose}>
      <div className="stack" style={{ gap: 10, marginTop: 8 }}>
        {permissions
          .filter((one) => one !== 'simulate' || account.test)
          .map((one) => (
            <Checkbox
              key={one}
              value={one}
              disabled={decidesOfMoney.has(one) && !may(one)}
              label={words.keys.permissionNames[one]}
              description={words.keys.permissionAbout[one]}
            />
          ))}
      </div>
    </Checkbox.Group>
  );
}

/** As far as can be seen without asking: the service decides. */
const looksLikeNetwork = (text: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?$/.test(text) || /^[0-9a-f:.]*:[0-9a-f:.]*(\/\d{1,3})?$/i.test(text);

/** Permissions are taken away here and never added. */
function NarrowDialog({ of, close }: { of: Key; close: () => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const [left, setLeft] = useState<string[]>(of.permissions);
  const narrow = useAction(
    async () => {
      const kept = of.permissions.filter((one) => left.includes(one));
      await ask(() =>
        api.PATCH('/keys/{id}', { params: { path: { id: of.id } }, body: { permissions: kept } }),
      );
      close();
    },
    { rereads: [[account.id, 'keys']] },
  );
  return (
    <Dialog title={words.keys.narrowTitle(of.name)} close={close}>
      <form className="stack" onSubmit={narrow.submit}>
        <Checkbox.Group
          label={words.keys.permissions}
          description={words.keys.narrowLead}
          value={left}
          onChange={setLeft}
          error={left.length === 0 ? words.keys.noneLeft : null}
        >
          <div className="stack" style={{ gap: 10, margin: '10px 0' }}>
            {of.permissions.map((one) => (
              <Checkbox
                key={one}
                value={one}
                label={words.keys.permissionNames[one]}
                description={words.keys.permissionAbout[one]}
              />
            ))}
          </div>
        </Checkbox.Group>
        <FormError error={narrow.error} />
        <Button
          type="submit"
          loading={narrow.busy}
          disabled={left.length === 0 || left.length === of.permissions.length}
        >
          {words.keys.narrowSave}
        </Button>
      </form>
    </Dialog>
  );
}

function RollDialog({ of, close, made }: { of: Key; close: () => void; made: (key: string) => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const [hours, setHours] = useState('24');
  const roll = useAction(
    async () => {
      const { key } = await ask(() =>
        api.POST('/keys/{id}/roll', {
          params: { path: { id: of.id } },
          body: { overlapHours: Number(hours) },
        }),
      );
      made(key);
    },
    { rereads: [[account.id, 'keys']] },
  );
  return (
    <Dialog title={words.keys.rollTitle(of.name)} close={close}>
      <div className="stack">
        <p style={{ margin: 0 }}>{words.keys.rollLead}</p>
        <Segments
          vertical
          label={words.keys.rollLead}
          data={Object.entries(words.keys.overlaps).map(([value, label]) => ({ value, label }))}
          value={hours}
          onChoice={setHours}
        />
        <FormError error={roll.error} />
        <Button loading={roll.busy} onClick={() => roll.run()}>
          {words.keys.roll}
        </Button>
      </div>
    </Dialog>
  );
}

function RevokeDialog({ of, close }: { of: Key; close: () => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const revoke = useAction(
    async () => {
      await ask(() => api.DELETE('/keys/{id}', { params: { path: { id: of.id } }, body: {} }));
      close();
    },
    { rereads: [[account.id, 'keys']] },
  );
  return (
    <Dialog title={words.keys.revokeTitle(of.name)} close={close}>
      <div className="stack">
        <p style={{ margin: 0 }}>{words.keys.revokeLead}</p>
        <FormError error={revoke.error} />
        <div style={{ display: 'flex', gap: 10, justifyContent: 'flex-end' }}>
          <Button variant="default" onClick={close}>
            {words.common.cancel}
          </Button>
          <Button color="red" loading={revoke.busy} onClick={() => revoke.run()}>
            {words.keys.revoke}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
