import { Alert, Button, Checkbox, Radio, TextInput } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, type Schemas } from '../api/client.ts';
import { dateTimeSeconds } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { type Action, useAction } from '../ui/action.ts';
import { Dialog, OnceDialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { Listed, ListFoot, Panes } from '../ui/listed.tsx';
import { Empty, FormError, PageHead, Rows, Trouble, When } from '../ui/parts.tsx';

type Webhook = Schemas['Webhook'];
type Delivery = Schemas['Delivery'];

const moods = { active: 'good', failing: 'bad', disabled: 'rest' } as const;
/** The endpoint took it; null: it did not answer. */
const isTaken = (statusCode: number | null): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300;

export const deliveryMoods = { pending: 'wait', delivered: 'good', failed: 'bad', skipped: 'rest' } as const;

export function useWebhooks() {
  const { api, account } = useScope();
  return useQuery({ queryKey: [account.id, 'webhooks'], queryFn: () => ask(() => api.GET('/webhooks')) });
}

export function Webhooks() {
  const words = useWords();
  const { data, error, refetch } = useWebhooks();
  const [creating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const create = (
    <Button
      leftSection={<Icon name="plus" size={18} />}
      disabled={(data?.webhooks.length ?? 0) >= 10}
      onClick={() => setCreating(true)}
    >
      {words.webhooks.new}
    </Button>
  );
  return (
    <>
      <PageHead title={words.webhooks.title} lead={words.webhooks.lead}>
        {create}
      </PageHead>
      <section className="card">
        {error && !data ? (
          <Trouble error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Rows />
        ) : data.webhooks.length === 0 ? (
          <Empty icon="webhook" title={words.webhooks.empty} lead={words.webhooks.emptyLead}>
            {create}
          </Empty>
        ) : (
          <ul className="moves">
            {data.webhooks.map((one) => (
              <li key={one.id} className="keyrow">
                <div style={{ minWidth: 0 }}>
                  <strong style={{ overflowWrap: 'anywhere' }}>{one.description || one.url}</strong>
                  <div style={{ display: 'flex', gap: 12, flexWrap: 'wrap', alignItems: 'center' }}>
                    <span className={`status ${moods[one.status]}`}>{words.webhooks.states[one.status]}</span>
                    {one.description && <span className="mono soft">{one.url}</span>}
                  </div>
                  <div className="soft" style={{ fontSize: 14 }}>
                    {one.events.includes('*') ? words.webhooks.every : one.events.join(', ')}
                  </div>
                </div>
                <Button component={Link} to={`/integracoes/webhooks/${one.id}`} size="sm" variant="default">
                  {words.webhooks.open}
                </Button>
              </li>
            ))}
          </ul>
        )}
      </section>
      {creating && (
        <CreateDialog
          close={() => setCreating(false)}
          made={(made) => {
            setCreating(false);
            setSecret(made);
          }}
        />
      )}
      {secret && <SecretDialog secret={secret} close={() => setSecret(null)} />}
    </>
  );
}

function CreateDialog({ close, made }: { close: () => void; made: (secret: string | null) => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const [url, setUrl] = useState('');
  const [description, setDescription] = useState('');
  const [which, setWhich] = useState('*');
  const [chosen, setChosen] = useState<string[]>(['charge.paid', 'transfer.completed', 'transfer.cancelled']);
  const [requestKey] = useState(() => crypto.randomUUID());
  const types = useQuery({
    queryKey: [account.id, 'event-types'],
    queryFn: () => ask(() => api.GET('/webhooks/event-types')),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const create = useAction(
    async () => {
      const events = (which === '*' ? ['*'] : chosen) as Schemas['Webhook']['events'];
      const answer = await ask(() =>
        api.POST('/webhooks', {
          body: { url: url.trim(), events: events as never, ...(description && { description }), requestKey },
        }),
      );
      made(answer.secret ?? null);
    },
    { rereads: [[account.id, 'webhooks']] },
  );
  return (
    <Dialog title={words.webhooks.new} close={close}>
      <form className="stack" onSubmit={create.submit}>
        <TextInput
          data-autofocus
          type="url"
          label={words.webhooks.url}
          description={words.webhooks.urlHint}
          placeholder="https://loja.exemplo.com.br/vintem"
          required
          withAsterisk={false}
          maxLength={2048}
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <TextInput
          label={`${words.webhooks.description} (${words.common.optional})`}
          maxLength={200}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <Radio.Group label={words.webhooks.events} value={which} onChange={setWhich}>
          <div className="stack" style={{ gap: 8, marginTop: 8 }}>
            <Radio value="*" label={words.webhooks.every} />
            <Radio value="some" label={words.webhooks.some} />
          </div>
        </Radio.Group>
        {which === 'some' && (
          <Checkbox.Group value={chosen} onChange={setChosen} aria-label={words.webhooks.events}>
            <div className="stack" style={{ gap: 8 }}>
              {(types.data?.eventTypes ?? [])
                .filter(({ type }) => type !== 'webhook.test')
                .map(({ type, description: about }) => (
                  <Checkbox
                    key={type}
                    value={type}
                    label={<span className="mono">{type}</span>}
                    description={about}
                  />
                ))}
            </div>
          </Checkbox.Group>
        )}
        <FormError error={create.error} />
        <Button
          type="submit"
          loading={create.busy}
          disabled={url === '' || (which !== '*' && chosen.length === 0)}
        >
          {words.webhooks.create}
        </Button>
      </form>
    </Dialog>
  );
}

function SecretDialog({ secret, close }: { secret: string; close: () => void }) {
  const words = useWords();
  return (
    <OnceDialog
      title={words.webhooks.secretTitle}
      lead={words.webhooks.secretLead}
      secret={secret}
      testId="new-secret"
      stored={words.webhooks.stored}
      close={close}
    />
  );
}

/** One endpoint: what was sent to it, how it ended, and what can be done about it. */
export function Deliveries() {
  const words = useWords();
  const { api, account } = useScope();
  const { id } = useParams({ strict: false }) as { id: string };
  const endpoint = useWebhooks().data?.webhooks.find((one) => one.id === id);
  const [notice, setNotice] = useState<string | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [removing, setRemoving] = useState(false);
  const list = useDeliveries(id);
  const doing = useAction(
    async (work: () => Promise<string | null>) => {
      setNotice(null);
      setNotice(await work());
    },
    {
      rereads: [
        [account.id, 'webhooks'],
        [account.id, 'deliveries', id],
      ],
    },
  );
  return (
    <>
      <PageHead
        title={endpoint?.description || words.webhooks.deliveries}
        lead={endpoint?.url ?? ' '}
        back={{ to: '/integracoes/webhooks', label: words.webhooks.title }}
      >
        <Button
          loading={doing.busy}
          onClick={() =>
            doing.run(async () => {
              await ask(() => api.POST('/webhooks/{id}/test', { params: { path: { id } }, body: {} }));
              return words.webhooks.tested;
            })
          }
        >
          {words.webhooks.test}
        </Button>
      </PageHead>
      <div className="stack">
        {endpoint && (
          <EndpointCard
            endpoint={endpoint}
            doing={doing}
            rotated={setSecret}
            remove={() => setRemoving(true)}
          />
        )}
        {notice && (
          <Alert color="mata" role="status">
            {notice}
          </Alert>
        )}
        <FormError error={doing.error} />
        <DeliveryList endpointId={id} list={list} doing={doing} />
      </div>
      {secret && <SecretDialog secret={secret} close={() => setSecret(null)} />}
      {removing && <RemoveDialog endpointId={id} doing={doing} close={() => setRemoving(false)} />}
    </>
  );
}

function useDeliveries(endpointId: string) {
  const { api, account } = useScope();
  return useInfiniteQuery({
    queryKey: [account.id, 'deliveries', endpointId],
    queryFn: ({ pageParam }) =>
      ask(() =>
        api.GET('/webhooks/{id}/deliveries', {
          params: {
            path: { id: endpointId },
            query: { limit: 30, ...(pageParam && { cursor: pageParam }) },
          },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    // An attempt takes a moment: as long as one is due, the list is looked at again.
    refetchInterval: (query) =>
      query.state.data?.pages.some((page) => page.deliveries.some((one) => one.status === 'pending'))
        ? 1_500
        : false,
  });
}

/** A list of deliveries, with a detail pane. */
function DeliveryList({
  endpointId,
  list,
  doing,
}: {
  endpointId: string;
  list: ReturnType<typeof useDeliveries>;
  doing: Doing;
}) {
  const words = useWords();
  const [chosen, setChosen] = useState<string | null>(null);
  const deliveries = list.data?.pages.flatMap((page) => page.deliveries) ?? [];
  const shown = deliveries.find((one) => one.id === chosen) ?? deliveries[0];
  return (
    <Listed
      pages={list}
      count={deliveries.length}
      noMatch={null}
      empty={
        <div className="card">
          <Empty icon="webhook" title={words.webhooks.noDeliveries} />
        </div>
      }
    >
      <Panes
        label={words.webhooks.deliveries}
        list={deliveries}
        shown={shown}
        choose={setChosen}
        line={(one) => (
          <>
            <span className="mono">
              <strong>{one.type}</strong>
            </span>
            <span style={{ display: 'flex', gap: 12, flexWrap: 'wrap' }}>
              <span className={`status ${deliveryMoods[one.status]}`}>
                {words.webhooks.deliveryStates[one.status]}
              </span>
              <span className="soft">
                <When at={one.createdAt} />
              </span>
            </span>
          </>
        )}
        foot={<ListFoot file={`webhooks/${endpointId}/deliveries.csv`} pages={list} />}
      >
        {shown && <DeliveryCard endpointId={endpointId} delivery={shown} doing={doing} />}
      </Panes>
    </Listed>
  );
}

function RemoveDialog({ endpointId, doing, close }: { endpointId: string; doing: Doing; close: () => void }) {
  const words = useWords();
  const { api } = useScope();
  const navigate = useNavigate();
  return (
    <Dialog title={words.webhooks.removeTitle} close={close}>
      <div className="stack">
        <p style={{ margin: 0 }}>{words.webhooks.removeLead}</p>
        <Button
          color="red"
          disabled={doing.busy}
          onClick={() => {
            close();
            doing.run(async () => {
              await ask(() =>
                api.DELETE('/webhooks/{id}', { params: { path: { id: endpointId } }, body: {} }),
              );
              await navigate({ to: '/integracoes/webhooks' });
              return null;
            });
          }}
        >
          {words.webhooks.remove}
        </Button>
      </div>
    </Dialog>
  );
}

/** The acts on an endpoint and its deliveries, one at a time; each ends with a message. */
type Doing = Action<[work: () => Promise<string | null>]>;

function EndpointCard({
  endpoint,
  doing,
  rotated,
  remove,
}: {
  endpoint: Webhook;
  doing: Doing;
  rotated: (secret: string) => void;
  remove: () => void;
}) {
  const words = useWords();
  const { api } = useScope();
  const path = { id: endpoint.id };
  return (
    <section className="card" aria-label={words.webhooks.title}>
      <dl className="facts" style={{ marginBottom: 14 }}>
        <dt>{words.common.status}</dt>
        <dd>
          <span className={`status ${moods[endpoint.status]}`}>{words.webhooks.states[endpoint.status]}</span>
          {endpoint.disabledReason && (
            <div className="soft">
              {words.webhooks.reasons[endpoint.disabledReason] ?? endpoint.disabledReason}
            </div>
          )}
        </dd>
        <dt>{words.webhooks.events}</dt>
        <dd>{endpoint.events.includes('*') ? words.webhooks.every : endpoint.events.join(', ')}</dd>
        <dt>{words.security.secret}</dt>
        <dd className="mono">{endpoint.secretHint}</dd>
        <dt>{words.common.created}</dt>
        <dd>
          <When at={endpoint.createdAt} />
        </dd>
      </dl>
      <div style={{ display: 'flex', gap: 8, flexWrap: 'wrap' }}>
        <Button
          size="sm"
          variant="default"
          disabled={doing.busy}
          onClick={() =>
            doing.run(async () => {
              await ask(() =>
                api.PATCH('/webhooks/{id}', { params: { path }, body: { enabled: !endpoint.enabled } }),
              );
              return null;
            })
          }
        >
          {endpoint.enabled ? words.webhooks.turnOff : words.webhooks.turnOn}
        </Button>
        <Button
          size="sm"
          variant="default"
          disabled={doing.busy}
          onClick={() =>
            doing.run(async () => {
              const made = await ask(() =>
                api.POST('/webhooks/{id}/rotate-secret', { params: { path }, body: {} }),
              );
              rotated(made.secret);
              return words.webhooks.rotateLead;
            })
          }
        >
          {words.webhooks.rotate}
        </Button>
        <Button
          size="sm"
          variant="default"
          disabled={doing.busy}
          onClick={() =>
            doing.run(async () => {
              const from = new Date(Date.now() - 24 * 3600 * 1000).toISOString();
              const { scheduled } = await ask(() =>
                api.POST('/webhooks/{id}/replay', { params: { path }, body: { from, onlyFailed: true } }),
              );
              return words.webhooks.replayed(scheduled);
            })
          }
        >
          {words.webhooks.replay}
        </Button>
        <Button size="sm" variant="subtle" color="red" onClick={remove}>
          {words.webhooks.remove}
        </Button>
      </div>
    </section>
  );
}

function DeliveryCard({
  endpointId,
  delivery,
  doing,
}: {
  endpointId: string;
  delivery: Delivery;
  doing: Doing;
}) {
  const words = useWords();
  const { api, account } = useScope();
  const payload = useQuery({
    queryKey: [account.id, 'event', delivery.eventId],
    // A test's event stands in no log.
    enabled: delivery.type !== 'webhook.test',
    queryFn: () => ask(() => api.GET('/events/{id}', { params: { path: { id: delivery.eventId } } })),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return (
    <section className="card" aria-label={delivery.type}>
      <div className="cardhead">
        <h2 className="mono">{delivery.type}</h2>
        <span className={`status ${deliveryMoods[delivery.status]}`}>
          {words.webhooks.deliveryStates[delivery.status]}
        </span>
        <Button
          className="end"
          size="xs"
          variant="default"
          disabled={doing.busy}
          onClick={() =>
            doing.run(async () => {
              await ask(() =>
                api.POST('/webhooks/{id}/deliveries/{deliveryId}/retry', {
                  params: { path: { id: endpointId, deliveryId: delivery.id } },
                  body: {},
                }),
              );
              return words.webhooks.retried;
            })
          }
        >
          {words.webhooks.retry}
        </Button>
      </div>
      {delivery.nextAttemptAt && (
        <p className="soft" style={{ marginTop: 0 }}>
          {words.webhooks.next}: <When at={delivery.nextAttemptAt} />
        </p>
      )}
      {delivery.attempts.length === 0 ? (
        <p className="soft">{words.webhooks.noAttempts}</p>
      ) : (
        <ol className="timeline" style={{ marginBottom: 16 }}>
          {delivery.attempts.map((attempt) => (
            <li key={attempt.n} className={isTaken(attempt.statusCode) ? 'good' : 'bad'}>
              <strong>{words.webhooks.attempt(attempt.n)}</strong>
              <div className="soft" style={{ fontSize: 14 }}>
                {dateTimeSeconds(attempt.at)} · {attempt.statusCode ?? attempt.error} · {attempt.durationMs}{' '}
                ms
              </div>
              {attempt.responseSnippet && <div className="code">{attempt.responseSnippet}</div>}
            </li>
          ))}
        </ol>
      )}
      {payload.data !== undefined && (
        <>
          <h3 style={{ fontSize: 14, margin: '0 0 6px' }}>{words.webhooks.payload}</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <pre className="code" tabIndex={0}>
            {JSON.stringify(payload.data, null, 2)}
          </pre>
        </>
      )}
      <p className="soft mono" style={{ margin: 0 }}>
        webhook-id {delivery.eventId}
      </p>
    </section>
  );
}
