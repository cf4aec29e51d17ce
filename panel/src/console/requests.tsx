import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { dateTimeSeconds } from '../format.ts';

import { useAction } from '../ui/action.ts';
import { Icon } from '../ui/icons.tsx';
import { Copy, Empty, FormError, Money, PageHead, Rows, Trouble } from '../ui/parts.tsx';
import { type Asked, desk, deskKey, type Invitation } from './api.ts';
import { Planned } from './decision.tsx';
import { RuleText } from './odd-money-rule.tsx';
import { CsvLink } from './parts.tsx';
import { useConsoleWords } from './words.ts';

/** Acts that wait for a second person, and those that were decided last. */
export function RequestsPage() {
  const words = useConsoleWords();
  // Here and not beside its request, which moves to those that are decided.
  const [invitation, setInvitation] = useState<Invitation | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: [deskKey, 'requests'],
    queryFn: () => ask(() => desk.GET('/requests')),
  });
  if (data === undefined) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Rows />;
  const open = data.requests.filter(isWaiting);
  const decided = data.requests.filter((one) => !isWaiting(one));
  return (
    <>
      <PageHead title={words.requests.title} lead={words.requests.lead}>
        <CsvLink list="requests" />
      </PageHead>
      <div className="stack">
        {invitation !== null && <Invited invitation={invitation} />}
        {open.length === 0 && (
          <Empty icon="check" title={words.requests.none} lead={words.requests.noneLead} />
        )}
        {open.map((one) => (
          <RequestCard key={one.id} request={one} onInvitation={setInvitation} />
        ))}
        {decided.length > 0 && (
          <section className="stack" aria-labelledby="decided">
            <h2 id="decided" style={{ margin: 0, fontSize: 18 }}>
              {words.requests.decided}
            </h2>
            {decided.map((one) => (
              <RequestCard key={one.id} request={one} onInvitation={setInvitation} />
            ))}
          </section>
        )}
      </div>
    </>
  );
}

const isWaiting = ({ state }: Asked): boolean => state === 'open' || state === 'alone';

/** An invitation that an agreement made, for a person who comes into the console: shown this once. */
function Invited({ invitation: { email, mailed, link } }: { invitation: Invitation }) {
  const { requests: words } = useConsoleWords();
  return (
    <Alert
      color={mailed || link !== null ? 'green' : 'red'}
      variant="light"
      icon={<Icon name="mail" />}
      role="status"
    >
      {link === null ? (mailed ? words.invited(email) : words.notMailed(email)) : words.handOver(email)}
      {link !== null && (
        <div style={{ marginTop: 8 }}>
          <span className="mono breaks" data-testid="invitation">
            {link}
          </span>{' '}
          <Copy value={link} />
        </div>
      )}
    </Alert>
  );
}

type OnInvitation = (invitation: Invitation) => void;

function RequestCard({ request, onInvitation }: { request: Asked; onInvitation: OnInvitation }) {
  const words = useConsoleWords();
  const when = (at: string) => (
    <time dateTime={at} title={at} className="num">
      {dateTimeSeconds(at)}
    </time>
  );
  // Two requests may ask for the same.
  const label = `${nameOf(request, words)}, ${request.requestedBy}, ${dateTimeSeconds(request.requestedAt)}`;
  const isOpen = isWaiting(request);
  const isAlone = request.state === 'alone' || request.state === 'seen';
  // Below the title of the page, or of the list of those that were decided.
  const Heading = isOpen ? 'h2' : 'h3';
  return (
    <section className="card" aria-label={label}>
      <div className="cardhead">
        <Heading style={{ margin: 0, fontSize: 16 }}>{nameOf(request, words)}</Heading>
        {request.movedCents > 0 && <Money cents={request.movedCents} />}
        <span className={`status end ${isOpen ? 'ask' : request.state === 'done' ? 'good' : 'rest'}`}>
          {words.requests.states[request.state]}
        </span>
      </div>
      {request.state === 'alone' && <p className="soft">{words.requests.aloneLead}</p>}
      {request.incidentId !== null && (
        <p style={{ margin: '0 0 6px' }}>
          <Link to="/operator/incidentes/$id" params={{ id: request.incidentId }}>
            {words.requests.incident}
          </Link>
        </p>
      )}
      {request.paymentId !== null && (
        <p style={{ margin: '0 0 6px' }}>
          <Link to="/operator/pagamentos/$id" params={{ id: request.paymentId }}>
            {words.requests.payment}
          </Link>{' '}
          <span className="mono">{request.returnId}</span>
        </p>
      )}
      {request.rule !== null && (
        <p style={{ margin: '0 0 6px' }}>
          <Link to="/operator/contas/$id" params={{ id: request.rule.ownerId }}>
            {words.requests.account}
          </Link>
        </p>
      )}
      {request.person === null && request.rule === null && <Planned postings={request.postings} />}
      <dl className="facts" style={{ marginTop: 14 }}>
        {request.person !== null && (
          <>
            <dt>{words.operators.change.who}</dt>
            <dd>
              {request.person.name !== null && `${request.person.name}, `}
              {request.person.email}
            </dd>
            {request.person.roleNow !== null && request.person.stateNow !== null && (
              <>
                <dt>{words.operators.now}</dt>
                <dd>
                  {words.roles[request.person.roleNow]}, {words.operators[request.person.stateNow]}
                </dd>
              </>
            )}
            {request.person.role !== null && (
              <>
                <dt>{words.operators.newRole}</dt>
                <dd>{words.roles[request.person.role]}</dd>
              </>
            )}
          </>
        )}
        {request.rule !== null && (
          <>
            <dt>{words.oddMoney.now}</dt>
            <dd>
              <RuleText rule={request.rule.before} />
            </dd>
            <dt>{words.oddMoney.next}</dt>
            <dd>
              <strong>
                <RuleText rule={request.rule.after} />
              </strong>
            </dd>
          </>
        )}
        <dt>{isAlone ? words.requests.doneBy : words.requests.by}</dt>
        <dd>
          {request.requestedBy}, {when(request.requestedAt)}
        </dd>
        <dt>{words.decide.why}</dt>
        <dd>{request.reason}</dd>
        {request.decidedBy !== null && request.decidedAt !== null ? (
          <>
            <dt>{words.requests.decidedBy}</dt>
            <dd>
              {request.decidedBy}, {when(request.decidedAt)}
            </dd>
          </>
        ) : (
          !isAlone && (
            <>
              <dt>{words.requests.until}</dt>
              <dd>{when(request.expiresAt)}</dd>
            </>
          )
        )}
      </dl>
      {request.ofShell && (
        <p className="soft" style={{ margin: '14px 0 0' }}>
          {words.requests.ofShellLead}
        </p>
      )}
      {request.state === 'open' && <Verdict request={request} onInvitation={onInvitation} />}
      {request.state === 'alone' && <Sight request={request} />}
    </section>
  );
}

function nameOf({ act, action, person }: Asked, words: ReturnType<typeof useConsoleWords>): string {
  if (act === 'resolveIncident')
    return (words.decide.acts as Record<string, string>)[action ?? ''] ?? words.incident.title;
  if (act === 'bookReturn') return words.requests.returned;
  if (act === 'releaseHold') return words.requests.release;
  if (act === 'changeOddMoneyRule') return words.requests.rule;
  return person === null ? words.requests.resume : words.operators.change.kinds[person.change];
}

/** The act is done: a person says that they have seen it. */
function Sight({ request: { id, shown, mayAgree } }: { request: Asked }) {
  const words = useConsoleWords();
  const see = useAction(
    () => ask(() => desk.POST('/requests/{id}/sight', { params: { path: { id } }, body: { shown } })),
    { rereads: [[deskKey]] },
  );
  if (!mayAgree) return null;
  return (
    <div className="stack" style={{ marginTop: 14 }}>
      <FormError error={see.error} />
      <Button loading={see.busy} onClick={() => see.run()} style={{ alignSelf: 'start' }}>
        {words.requests.saw}
      </Button>
    </div>
  );
}

function Verdict({
  request: { id, shown, mine, mayAgree, ofShell },
  onInvitation,
}: {
  request: Asked;
  onInvitation: OnInvitation;
}) {
  const words = useConsoleWords();
  const [sure, setSure] = useState(false);
  const rereads = [[deskKey]];
  const agree = useAction(
    async () => {
      const call = { params: { path: { id } }, body: { shown } };
      const { invitation } = await ask(() => desk.POST('/requests/{id}/agreement', call));
      if (invitation !== null) onInvitation(invitation);
    },
    { rereads },
  );
  const takeUp = useAction(
    () => ask(() => desk.POST('/requests/{id}/taking-up', { params: { path: { id } }, body: { shown } })),
    { rereads },
  );
  const refuse = useAction(
    () => ask(() => desk.POST('/requests/{id}/refusal', { params: { path: { id } }, body: {} })),
    { rereads },
  );
  if (!mine && !mayAgree) return null;
  return (
    <div className="stack" style={{ marginTop: 14 }}>
      <FormError error={agree.error ?? takeUp.error ?? refuse.error} />
      <div className="deskbuttons">
        {mayAgree && ofShell && (
          <Button loading={takeUp.busy} onClick={() => takeUp.run()}>
            {words.requests.takeUp}
          </Button>
        )}
        {mayAgree && !ofShell && !sure && (
          <Button onClick={() => setSure(true)}>{words.requests.agree}</Button>
        )}
        {mayAgree && !ofShell && sure && (
          <Button loading={agree.busy} onClick={() => agree.run()}>
            {words.requests.sure}
          </Button>
        )}
        <Button variant="default" loading={refuse.busy} onClick={() => refuse.run()}>
          {mine ? words.requests.withdraw : words.requests.refuse}
        </Button>
      </div>
      {mine && <p className="soft">{words.requests.mine}</p>}
    </div>
  );
}
