import { Alert, Badge, Button, Checkbox, NumberInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import type { paths } from '../api/contract.d.ts';
import { dateTime } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { type Action, useAction } from '../ui/action.ts';
import { Choice } from '../ui/choice.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { ListFoot } from '../ui/listed.tsx';
import { FormError, PageHead, Rows, Trouble } from '../ui/parts.tsx';

const roles = ['owner', 'admin', 'finance', 'developer', 'viewer'] as const;
type Role = (typeof roles)[number];

type Listing = paths['/members']['get']['responses'][200]['content']['application/json'];
type Member = Listing['members'][number];

interface Named {
  userId: string;
  name: string;
}

export function People() {
  const words = useWords();
  const { api, account } = useScope();
  const [inviting, setInviting] = useState(false);
  const [leaving, setLeaving] = useState<Named | null>(null);
  const [looking, setLooking] = useState<Named | null>(null);
  const [keysLeft, setKeysLeft] = useState('');
  const { data, error, refetch } = useQuery({
    queryKey: [account.id, 'people'],
    queryFn: () => ask(() => api.GET('/members')),
  });
  const change = useAction((work: () => Promise<unknown>) => work(), { rereads: [[account.id, 'people']] });
  return (
    <>
      <PageHead title={words.people.title} lead={words.people.lead}>
        <Button leftSection={<Icon name="plus" size={18} />} onClick={() => setInviting(true)}>
          {words.people.invite}
        </Button>
      </PageHead>
      <div className="stack">
        <FormError error={change.error} />
        {keysLeft && (
          <Alert color="yellow" variant="light" role="status">
            {words.people.keysLeft(keysLeft)}
          </Alert>
        )}
        <section className="card">
          {error && !data ? (
            <Trouble error={error} retry={() => void refetch()} />
          ) : !data ? (
            <Rows />
          ) : (
            <>
              <ul className="moves">
                {data.members.map((one) => (
                  <MemberRow
                    key={one.userId}
                    member={one}
                    change={change}
                    look={() => setLooking(one)}
                    remove={() => setLeaving(one)}
                    left={setKeysLeft}
                  />
                ))}
              </ul>
              <ListFoot file="members.csv" />
            </>
          )}
        </section>
        {data && data.invitations.length > 0 && (
          <Invitations invitations={data.invitations} change={change} />
        )}
        {data && account.role === 'owner' && !account.test && <Grace days={data.secondFactorGraceDays} />}
      </div>
      {inviting && <InviteDialog close={() => setInviting(false)} />}
      {looking && <SessionsDialog of={looking} close={() => setLooking(null)} />}
      {leaving && (
        <LeaveDialog
          of={leaving}
          close={() => setLeaving(null)}
          left={(names) => {
            setLeaving(null);
            setKeysLeft(names);
          }}
        />
      )}
    </>
  );
}

/** The acts on members and invitations, one at a time. */
type Change = Action<[work: () => Promise<unknown>]>;

function MemberRow({
  member,
  change,
  look,
  remove,
  left,
}: {
  member: Member;
  change: Change;
  /** At the member's sessions. */
  look: () => void;
  remove: () => void;
  /** The names of the keys that the new role could not make, and that stay. */
  left: (names: string) => void;
}) {
  const words = useWords();
  const { api, account } = useScope();
  const mayChange = (role: Role) => account.role === 'owner' || role !== 'owner';
  return (
    <li className="keyrow">
      <div style={{ minWidth: 0 }}>
        <strong>{member.name}</strong>{' '}
        {member.self && (
          <Badge variant="light" tt="none" color="cobre">
            {words.people.you}
          </Badge>
        )}
        <div className="soft" style={{ fontSize: 14, overflowWrap: 'anywhere' }}>
          {member.email}
        </div>
        <div style={{ fontSize: 14 }}>
          <span className={`status ${member.secondFactor ? 'good' : 'wait'}`}>
            {words.people.factor}: {member.secondFactor ? words.security.on : words.security.off}
          </span>
        </div>
      </div>
      <div style={{ display: 'flex', flexWrap: 'wrap', gap: 8, alignItems: 'center' }}>
        <Choice
          aria-label={`${words.people.changeRole}: ${member.name}`}
          data={roles.map((value) => ({
            value,
            label: words.roles[value],
            disabled: !mayChange(value),
          }))}
          value={member.role}
          disabled={!mayChange(member.role) || change.busy}
          w={160}
          onChoice={(role) =>
            role &&
            role !== member.role &&
            change.run(async () => {
              const { keysLeft } = await ask(() =>
                api.PATCH('/members/{id}', {
                  params: { path: { id: member.userId } },
                  body: { role: role as Role },
                }),
              );
              left(keysLeft.map(({ name }) => name).join(', '));
            })
          }
        />
        {mayChange(member.role) && (
          <Button variant="subtle" size="sm" onClick={look}>
            {words.people.sessions}
          </Button>
        )}
        {mayChange(member.role) && !member.self && (
          <Button variant="subtle" color="red" size="sm" onClick={remove}>
            {words.people.remove}
          </Button>
        )}
      </div>
    </li>
  );
}

function Invitations({ invitations, change }: { invitations: Listing['invitations']; change: Change }) {
  const words = useWords();
  const { api } = useScope();
  return (
    <section className="card" aria-labelledby="pending">
      <h2 id="pending">{words.people.pending}</h2>
      <ul className="moves">
        {invitations.map((one) => (
          <li key={one.id} className="keyrow">
            <div style={{ minWidth: 0 }}>
              <span style={{ overflowWrap: 'anywhere' }}>{one.email}</span>
              <div className="soft num" style={{ fontSize: 14 }}>
                {words.roles[one.role]} · {words.people.until(dateTime(one.expiresAt))}
              </div>
            </div>
            <Button
              variant="subtle"
              size="sm"
              color="red"
              disabled={change.busy}
              onClick={() =>
                change.run(() =>
                  ask(() =>
                    api.DELETE('/members/invitations/{id}', {
                      params: { path: { id: one.id } },
                      body: {},
                    }),
                  ),
                )
              }
            >
              {words.people.withdraw}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How long a new member of a live account has to set up a second factor. */
function Grace({ days }: { days: number }) {
  const words = useWords();
  const { api, account } = useScope();
  const [chosen, setChosen] = useState<number | string>(days);
  const save = useAction(
    () => ask(() => api.PUT('/members/second-factor', { body: { days: Number(chosen) } })),
    { rereads: [[account.id, 'people']] },
  );
  return (
    <form className="card stack narrow" aria-labelledby="grace" onSubmit={save.submit}>
      <h2 id="grace">{words.people.grace}</h2>
      <p className="soft" style={{ margin: 0 }}>
        {words.people.graceLead}
      </p>
      <NumberInput
        label={words.people.graceDays}
        min={0}
        max={30}
        clampBehavior="strict"
        allowDecimal={false}
        allowNegative={false}
        value={chosen}
        onChange={setChosen}
      />
      <FormError error={save.error} />
      <Button type="submit" variant="default" loading={save.busy} disabled={chosen === ''}>
        {words.common.save}
      </Button>
    </form>
  );
}

function SessionsDialog({ of, close }: { of: Named; close: () => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const key = [account.id, 'people', of.userId, 'sessions'];
  const path = { path: { id: of.userId } };
  const { data } = useQuery({
    queryKey: key,
    queryFn: () => ask(() => api.GET('/members/{id}/sessions', { params: path })),
  });
  const end = useAction(() => ask(() => api.POST('/members/{id}/end-sessions', { params: path, body: {} })), {
    rereads: [key],
  });
  return (
    <Dialog title={words.people.sessionsOf(of.name)} close={close}>
      <div className="stack">
        {!data ? (
          <Rows count={2} />
        ) : data.sessions.length === 0 ? (
          <p style={{ margin: 0 }}>{words.people.noSessions}</p>
        ) : (
          <ul className="moves">
            {data.sessions.map((one) => (
              <li key={one.id} className="soft num" style={{ padding: '8px 0' }}>
                {one.ipAddress} · {words.security.since(dateTime(one.createdAt))}
              </li>
            ))}
          </ul>
        )}
        <FormError error={end.error} />
        <Button color="red" loading={end.busy} onClick={() => end.run()}>
          {words.people.endSessions}
        </Button>
      </div>
    </Dialog>
  );
}

function LeaveDialog({
  of,
  close,
  left,
}: {
  of: Named;
  close: () => void;
  /** The names of the keys that stay. */
  left: (names: string) => void;
}) {
  const words = useWords();
  const { api, account } = useScope();
  const [revokeKeys, setRevokeKeys] = useState(true);
  const leave = useAction(
    async () => {
      const { keysLeft } = await ask(() =>
        api.DELETE('/members/{id}', { params: { path: { id: of.userId } }, body: { revokeKeys } }),
      );
      left(keysLeft.map(({ name }) => name).join(', '));
    },
    { rereads: [[account.id]] },
  );
  return (
    <Dialog title={words.people.removeTitle(of.name)} close={close}>
      <div className="stack">
        <p style={{ margin: 0 }}>{words.people.removeLead}</p>
        <Checkbox
          label={words.people.revokeKeys}
          checked={revokeKeys}
          onChange={(event) => setRevokeKeys(event.currentTarget.checked)}
        />
        <FormError error={leave.error} />
        <Button color="red" loading={leave.busy} onClick={() => leave.run()}>
          {words.people.remove}
        </Button>
      </div>
    </Dialog>
  );
}

function InviteDialog({ close }: { close: () => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const invite = useAction(
    () => ask(() => api.POST('/members/invitations', { body: { email: email.trim(), role } })),
    { rereads: [[account.id, 'people']] },
  );
  return (
    <Dialog title={words.people.invite} close={close}>
      {invite.done ? (
        <div className="stack">
          <Alert color="mata" role="status">
            {words.people.invited} {words.people.invitedTo(email.trim())}
          </Alert>
          <div style={{ display: 'flex', flexWrap: 'wrap', gap: 10 }}>
            <Button data-autofocus onClick={close}>
              {words.people.inviteEnd}
            </Button>
            <Button
              variant="default"
              onClick={() => {
                setEmail('');
                invite.forget();
              }}
            >
              {words.people.inviteAnother}
            </Button>
          </div>
        </div>
      ) : (
        <form className="stack" onSubmit={invite.submit}>
          <TextInput
            data-autofocus
            type="email"
            label={words.people.email}
            required
            withAsterisk={false}
            autoComplete="off"
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <Choice
            label={words.people.role}
            description={words.roleAbout[role]}
            data={roles.map((value) => ({
              value,
              label: words.roles[value],
              disabled: value === 'owner' && account.role !== 'owner',
            }))}
            value={role}
            onChoice={(value) => setRole(value as Role)}
          />
          <FormError error={invite.error} />
          <Button type="submit" loading={invite.busy}>
            {words.people.send}
          </Button>
        </form>
      )}
    </Dialog>
  );
}
