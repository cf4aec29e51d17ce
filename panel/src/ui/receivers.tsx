import { Button, Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, type SavedReceiver } from '../api/client.ts';
import { pixKeyText } from '../format.ts';
import type { PixKeyType } from '../pix-key.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { Dialog } from './dialog.tsx';
import { Icon } from './icons.tsx';
import { FormError } from './parts.tsx';

export interface Receiver {
  pixKey: string;
  pixKeyType: PixKeyType;
}

function useSaved() {
  const { api, account } = useScope();
  return useQuery({
    queryKey: [account.id, 'receivers', 'saved'],
    queryFn: () => ask(() => api.GET('/receivers')),
  });
}

/** Under which name this receiver was saved; undefined: under none. */
export const useSavedName = (pixKey: string | null | undefined): string | undefined =>
  useSaved().data?.receivers.find((one) => one.pixKey === pixKey)?.name;

/** The receivers that were saved, and those of the latest transfers that arrived; each key once. */
export function ChooseReceiver({ choose }: { choose: (receiver: Receiver) => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const [managing, setManaging] = useState(false);
  const saved = useSaved().data?.receivers ?? [];
  const { data: latest } = useQuery({
    queryKey: [account.id, 'receivers', 'latest'],
    queryFn: () =>
      ask(() =>
        api.GET('/records', {
          params: { query: { kind: 'transfer', status: ['completed'], limit: 40 } },
          querySerializer: { array: { style: 'form', explode: false } },
        }),
      ),
  });
  const recent = new Map<string, Receiver & { description: string }>();
  for (const { pixKey, pixKeyType, description } of latest?.records ?? []) {
    const known = pixKey === null || recent.has(pixKey) || saved.some((one) => one.pixKey === pixKey);
    if (!known) recent.set(pixKey, { pixKey, pixKeyType: pixKeyType as PixKeyType, description });
  }
  if (saved.length === 0 && recent.size === 0) return null;
  const groups = [
    {
      group: words.receivers.saved,
      items: saved.map(({ pixKey, pixKeyType, name }) => ({
        value: pixKey,
        label: `${name} · ${pixKeyText(pixKeyType, pixKey)}`,
      })),
    },
    {
      group: words.receivers.recent,
      items: [...recent.values()].map(({ pixKey, pixKeyType, description }) => ({
        value: pixKey,
        label: [pixKeyText(pixKeyType, pixKey), description].filter(Boolean).join(' · '),
      })),
    },
  ];
  return (
    <div>
      <Select
        label={words.receivers.choose}
        placeholder={words.receivers.hint}
        searchable
        data={groups.filter(({ items }) => items.length > 0)}
        value={null}
        onChange={(key) => {
          const found = saved.find((one) => one.pixKey === key) ?? recent.get(key ?? '');
          if (found) choose(found);
        }}
      />
      {saved.length > 0 && (
        <Button variant="subtle" size="compact-sm" mt={4} onClick={() => setManaging(true)}>
          {words.receivers.manage}
        </Button>
      )}
      {managing && <Manage saved={saved} close={() => setManaging(false)} />}
    </div>
  );
}

function Manage({ saved, close }: { saved: SavedReceiver[]; close: () => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const remove = useAction(
    (id: string) => ask(() => api.POST('/receivers/{id}/remove', { params: { path: { id } }, body: {} })),
    { rereads: [[account.id, 'receivers']] },
  );
  return (
    <Dialog opened title={words.receivers.manage} close={close}>
      <FormError error={remove.error} />
      <ul className="moves">
        {saved.map(({ id, name, pixKey, pixKeyType }) => (
          <li key={id} className="refund">
            <div>
              <strong>{name}</strong>
              <div className="soft">{pixKeyText(pixKeyType, pixKey)}</div>
            </div>
            <Button
              variant="subtle"
              color="red"
              size="xs"
              disabled={remove.busy}
              aria-label={words.receivers.removeOf(name)}
              onClick={() => remove.run(id)}
            >
              {words.receivers.remove}
            </Button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** Keeps a key that was typed; nothing where it is kept already. */
export function SaveReceiver({ pixKey, pixKeyType }: Receiver) {
  const words = useWords();
  const { api, account } = useScope();
  const saved = useSaved().data?.receivers;
  const [asking, setAsking] = useState(false);
  const [name, setName] = useState('');
  const save = useAction(
    async () => {
      await ask(() => api.POST('/receivers', { body: { name: name.trim(), pixKey, pixKeyType } }));
      setAsking(false);
      setName('');
    },
    { rereads: [[account.id, 'receivers']] },
  );
  const known = saved?.find((one) => one.pixKey === pixKey);
  if (known) {
    return (
      <p className="soft" style={{ margin: 0 }}>
        {words.receivers.savedAs(known.name)}
      </p>
    );
  }
  if (!saved) return null;
  return (
    <div>
      <Button
        variant="subtle"
        size="compact-sm"
        leftSection={<Icon name="plus" size={16} />}
        onClick={() => setAsking(true)}
      >
        {words.receivers.save}
      </Button>
      {asking && (
        <Dialog opened title={words.receivers.save} close={() => setAsking(false)}>
          {/* Portaled, but React hands its submission on to the form around it. */}
          <form
            className="stack"
            onSubmit={(event) => {
              event.stopPropagation();
              save.submit(event);
            }}
          >
            <p style={{ margin: 0 }}>{pixKeyText(pixKeyType, pixKey)}</p>
            <TextInput
              data-autofocus
              label={words.common.name}
              maxLength={60}
              autoComplete="off"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <FormError error={save.error} />
            <Button type="submit" loading={save.busy} disabled={name.trim() === ''}>
              {words.common.save}
            </Button>
          </form>
        </Dialog>
      )}
    </div>
  );
}
