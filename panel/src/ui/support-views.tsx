import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { Choice } from './choice.tsx';
import { FormError, Rows, Trouble } from './parts.tsx';

const spans = ['30', '240', '1440', '10080'] as const;

/** Whether support may see this panel, and who of it did. */
export function SupportViews() {
  const words = useWords();
  const { api, account, may } = useScope();
  const [minutes, setMinutes] = useState<string>('240');
  const queryKey = [account.id, 'support'];
  const rereads = [queryKey, ['session']];
  const query = useQuery({
    queryKey,
    queryFn: () => ask(() => api.GET('/support')),
    enabled: may('members'),
  });
  const grant = useAction(
    () => ask(() => api.POST('/support/grant', { body: { minutes: Number(minutes) } })),
    { rereads },
  );
  const end = useAction(() => ask(() => api.POST('/support/end', { body: {} })), { rereads });
  if (!may('members')) return null;
  const { data } = query;
  const isOpen = data !== undefined && (data.grantedUntil !== null || account.seenUntil !== null);
  return (
    <section className="card" aria-labelledby="support">
      <div className="cardhead">
        <h2 id="support">{words.support.title}</h2>
        {data && (
          <span className={`status ${isOpen ? 'wait' : 'good'}`}>
            {data.grantedUntil === null
              ? words.support.closed
              : words.support.until(dateTime(data.grantedUntil))}
          </span>
        )}
      </div>
      <p className="soft" style={{ marginTop: 0 }}>
        {words.support.lead}
      </p>
      {account.role === 'owner' && (
        <form className="filters" onSubmit={grant.submit}>
          <Choice
            label={words.support.forHowLong}
            data={spans.map((value) => ({ value, label: words.support.spans[value] }))}
            value={minutes}
            onChoice={setMinutes}
          />
          <Button type="submit" variant="default" loading={grant.busy} style={{ alignSelf: 'end' }}>
            {words.support.grant}
          </Button>
        </form>
      )}
      <FormError error={grant.error ?? end.error} />
      {isOpen && (
        <Button color="red" variant="light" mt="md" loading={end.busy} onClick={() => end.run()}>
          {words.support.end}
        </Button>
      )}
      {data ? (
        data.views.length === 0 ? (
          <p className="soft">{words.support.none}</p>
        ) : (
          <table className="table folding" aria-label={words.support.title}>
            <thead>
              <tr>
                <th scope="col">{words.support.who}</th>
                <th scope="col">{words.support.when}</th>
                <th scope="col">{words.support.why}</th>
              </tr>
            </thead>
            <tbody>
              {data.views.map((one) => (
                <tr key={one.begunAt}>
                  <td data-label={words.support.who}>{one.operator}</td>
                  <td data-label={words.support.when}>
                    <div>{dateTime(one.begunAt)}</div>
                    <div>{words.support.to(dateTime(one.endedAt ?? one.endsAt))}</div>
                  </td>
                  <td data-label={words.support.why} className="breaks">
                    {one.reason}
                    {!one.granted && <div className="soft">{words.support.mailed}</div>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      ) : query.error ? (
        <Trouble error={query.error} retry={() => void query.refetch()} />
      ) : (
        <Rows />
      )}
    </section>
  );
}
