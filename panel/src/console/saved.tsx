import { Button, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { Icon } from '../ui/icons.tsx';
import { FormError } from '../ui/parts.tsx';
import { desk, deskKey, type SavedView } from './api.ts';
import { useConsoleWords } from './words.ts';

const places = { audit: '/operator/auditoria', closes: '/operator/fechamentos' } as const;

/** The filters of a page that this operator keeps, and a way to keep those in the address. */
export function Saved({ page, search }: { page: SavedView['page']; search: SavedView['search'] }) {
  const { saved: words } = useConsoleWords();
  const queries = useQueryClient();
  const queryKey = [deskKey, 'views'];
  const { data } = useQuery({ queryKey, queryFn: () => ask(() => desk.GET('/views')) });
  const [name, setName] = useState('');
  const save = useAction(async () => {
    const body = { page, name: name.trim(), search };
    queries.setQueryData(queryKey, await ask(() => desk.POST('/views', { body })));
    setName('');
  });
  const remove = useAction(async (slot: number) => {
    const params = { path: { slot: String(slot) } };
    queries.setQueryData(queryKey, await ask(() => desk.POST('/views/{slot}/removal', { params, body: {} })));
  });
  const views = data?.views.filter((one) => one.page === page) ?? [];
  const isFiltered = Object.keys(search).length > 0;
  if (views.length === 0 && !isFiltered) return null;
  return (
    <section className="saved" aria-label={words.title}>
      {views.length > 0 && (
        <ul>
          {views.map((one) => (
            <li key={one.slot}>
              <Link to={places[page]} search={one.search}>
                {one.name}
              </Link>
              <Button
                variant="subtle"
                size="compact-sm"
                aria-label={words.remove(one.name)}
                loading={remove.busy}
                onClick={() => remove.run(one.slot)}
              >
                <Icon name="cross" size={14} />
              </Button>
            </li>
          ))}
        </ul>
      )}
      {isFiltered && (
        <details className="more">
          <summary>{words.save}</summary>
          <form className="filters" onSubmit={save.submit}>
            <TextInput
              label={words.name}
              maxLength={60}
              required
              withAsterisk={false}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Button type="submit" variant="default" loading={save.busy}>
              {words.submit}
            </Button>
          </form>
        </details>
      )}
      <FormError error={save.error ?? remove.error} />
    </section>
  );
}
