import { Button, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { ask } from '../api/client.ts';
import { dateTime, momentOf } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FormError, PageHead, Rows, Trouble, When } from '../ui/parts.tsx';
import { NotFound } from './not-found.tsx';

/** The controls of a test account as a whole: its clock, and its reset. Controls of one payment stand on the payment's page. */
export function TestModePage() {
  const words = useWords().testMode;
  const { account, may } = useScope();
  if (!account.test || !may('simulate')) return <NotFound />;
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      <div className="stack narrow">
        <TestClock />
        {may('operations') && <Reset />}
      </div>
    </>
  );
}

const hourMs = 3_600_000;
const steps = [
  ['hour', hourMs],
  ['day', 24 * hourMs],
  ['threeDays', 72 * hourMs],
  ['week', 168 * hourMs],
] as const;

const clockKey = (accountId: string) => [accountId, 'test-clock'];

function useTestClock() {
  const { api, account } = useScope();
  return useQuery({
    queryKey: clockKey(account.id),
    queryFn: () => ask(() => api.GET('/test/clock')),
    refetchInterval: ({ state }) => (state.data?.status === 'advancing' ? 500 : 15_000),
  });
}

function TestClock() {
  const words = useWords().testMode;
  const { api, account } = useScope();
  const queries = useQueryClient();
  const { data: clock, error, refetch } = useTestClock();
  const start = useAction(async () => {
    queries.setQueryData(clockKey(account.id), await ask(() => api.POST('/test/clock', { body: {} })));
  });
  const advancing = clock?.status === 'advancing';
  // Work that fell due on the way has changed payments, drafts and deliveries.
  useEffect(() => {
    if (!advancing) return;
    return () => void queries.invalidateQueries({ queryKey: [account.id] });
  }, [advancing, queries, account.id]);
  if (error && !clock) return <Trouble error={error} retry={() => void refetch()} />;
  return (
    <section className="card" aria-labelledby="test-clock">
      <h2 id="test-clock">{words.clock}</h2>
      <p className="soft">{words.clockLead}</p>
      {!clock ? (
        <Rows count={2} />
      ) : (
        <>
          <dl className="facts">
            <dt>{words.now}</dt>
            <dd>
              <When at={clock.now} />
            </dd>
            <dt>{words.state}</dt>
            <dd aria-live="polite">
              {!clock.started
                ? words.notStarted
                : clock.to === null
                  ? words.ready
                  : words.advancing(dateTime(clock.to))}
            </dd>
          </dl>
          {clock.started ? (
            <Advance busy={advancing} />
          ) : (
            <>
              <FormError error={start.error} />
              <Button mt="md" loading={start.busy} onClick={() => start.run()}>
                {words.start}
              </Button>
            </>
          )}
        </>
      )}
    </section>
  );
}

/** Forward only, by a step or to a time of São Paulo. */
function Advance({ busy }: { busy: boolean }) {
  const words = useWords().testMode;
  const { api, account } = useScope();
  const queries = useQueryClient();
  const [until, setUntil] = useState('');
  const advance = useAction(async (to: (now: number) => number) => {
    // From what the clock shows now, and not from what was read a while ago.
    const { now } = await ask(() => api.GET('/test/clock'));
    const body = { to: new Date(to(Date.parse(now))).toISOString() };
    queries.setQueryData(clockKey(account.id), await ask(() => api.POST('/test/clock/advance', { body })));
  });
  const wait = busy || advance.busy;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const at = momentOf(until);
    if (at !== null && !wait) advance.run(() => at);
  };
  return (
    <div className="stack" style={{ marginTop: 16 }}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a row in every browser */}
      <div role="group" aria-label={words.forward} style={{ display: 'flex', flexWrap: 'wrap', gap: 8 }}>
        {steps.map(([name, ms]) => (
          <Button
            key={name}
            size="sm"
            variant="default"
            disabled={wait}
            onClick={() => advance.run((now) => now + ms)}
          >
            {words.steps[name]}
          </Button>
        ))}
      </div>
      <form style={{ display: 'flex', flexWrap: 'wrap', gap: 8, alignItems: 'flex-end' }} onSubmit={submit}>
        <TextInput
          type="datetime-local"
          label={words.until}
          value={until}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" disabled={wait || momentOf(until) === null}>
          {words.advance}
        </Button>
      </form>
      <FormError error={advance.error} />
    </div>
  );
}

function Reset() {
  const words = useWords().testMode;
  const [open, setOpen] = useState(false);
  return (
    <section className="card" aria-labelledby="test-reset">
      <h2 id="test-reset">{words.reset}</h2>
      <p className="soft">{words.resetLead}</p>
      <Button variant="light" color="red" onClick={() => setOpen(true)}>
        {words.resetOpen}
      </Button>
      {open && <ResetDialog close={() => setOpen(false)} />}
    </section>
  );
}

function ResetDialog({ close }: { close: () => void }) {
  const words = useWords();
  const { api, account, chooseAccount } = useScope();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const reset = useAction(async () => {
    const fresh = await ask(() => api.POST('/test/reset', { body: {} }));
    await queries.invalidateQueries({ queryKey: ['session'] });
    chooseAccount(fresh.ownerId);
    await navigate({ to: '/' });
  });
  return (
    <Dialog title={words.testMode.resetTitle(account.name)} close={close}>
      <div className="stack">
        <p style={{ margin: 0 }}>{words.testMode.resetGoes}</p>
        <p style={{ margin: 0 }}>{words.testMode.resetStays}</p>
        <FormError error={reset.error} />
        <Button color="red" loading={reset.busy} onClick={() => reset.run()}>
          {words.testMode.resetConfirm}
        </Button>
      </div>
    </Dialog>
  );
}
