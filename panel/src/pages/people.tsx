import { Alert, Badge, Button, Select, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { ListFoot } from '../ui/listed.tsx';
import { FormError, PageHead, Rows, Trouble } from '../ui/parts.tsx';

const roles = ['owner', 'admin', 'finance', 'developer', 'viewer'] as const;
type Role = (typeof roles)[number];

export function People() {
  const { words, language } = useText();
  const { api, account } = useScope();
  const queries = useQueryClient();
  const [inviting, setInviting] = useState(false);
  const [leaving, setLeaving] = useState<{ userId: string; name: string } | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: [account.id, 'people'],
    queryFn: () => ask(() => api.GET('/members')),
  });
  const mine = account.role;
  const mayChange = (role: Role) => mine === 'owner' || role !== 'owner';

  const change = useAction(async (work: () => Promise<unknown>) => {
    await work();
    await queries.invalidateQueries({ queryKey: [account.id, 'people'] });
  });
  return (
    <>
      <PageHead title={words.people.title} lead={words.people.lead}>
        <Button leftSection={<Icon name="plus" size={18} />} onClick={() => setInviting(true)}>
          {words.people.invite}
        </Button>
      </PageHead>
      <div className="stack">
        <FormError error={change.error} />
        <section className="card">
          {error && !data ? (
            <Trouble error={error} retry={() => void refetch()} />
          ) : !data ? (
            <Rows />
          ) : (
            <>
              <ul className="moves">
                {data.members.map((one) => (
                  <li key={one.userId} className="keyrow">
                    <div style={{ minWidth: 0 }}>
                      <strong>{one.name}</strong>{' '}
                      {one.self && (
                        <Badge variant="light" tt="none" color="cobre">
                          {words.people.you}
                        </Badge>
                      )}
                      <div className="soft" style={{ fontSize: 14, overflowWrap: 'anywhere' }}>
                        {one.email}
                      </div>
                      <div style={{ fontSize: 14 }}>
                        <span className={`status ${one.secondFactor ? 'good' : 'wait'}`}>
                          {words.people.factor}: {one.secondFactor ? words.security.on : words.security.off}
                        </span>
                      </div>
                    </div>
                    <div style={{ display: 'flex', gap: 8, alignItems: 'center' }}>
                      <Select
                        aria-label={`${words.people.changeRole}: ${one.name}`}
                        data={roles.map((value) => ({
                          value,
                          label: words.roles[value],
                          disabled: !mayChange(value),
                        }))}
                        value={one.role}
                        disabled={!mayChange(one.role)}
                        allowDeselect={false}
                        w={160}
                        onChange={(role) =>
                          role &&
                          role !== one.role &&
                          change.run(() =>
                            ask(() =>
                              api.PATCH('/members/{id}', {
                                params: { path: { id: one.userId } },
                                body: { role: role as Role },
                              }),
                            ),
                          )
                        }
                      />
                      {mayChange(one.role) && !one.self && (
                        <Button variant="subtle" color="red" size="sm" onClick={() => setLeaving(one)}>
                          {words.people.remove}
                        </Button>
                      )}
                    </div>
                  </li>
                ))}
              </ul>
              <ListFoot file="members.csv" />
            </>
          )}
        </section>
        {data && data.invitations.length > 0 && (
          <section className="card" aria-labelledby="pending">
            <h2 id="pending">{words.people.pending}</h2>
            <ul className="moves">
              {data.invitations.map((one) => (
                <li key={one.id} className="keyrow">
                  <div style={{ minWidth: 0 }}>
                    <span style={{ overflowWrap: 'anywhere' }}>{one.email}</span>
                    <div className="soft num" style={{ fontSize: 14 }}>
                      {words.roles[one.role]} · {words.people.until(dateTime(one.expiresAt, language))}
                    </div>
                  </div>
                  <Button
                    variant="subtle"
                    size="sm"
                    color="red"
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
        )}
      </div>
      {inviting && <InviteDialog close={() => setInviting(false)} />}
      {leaving && (
        <Dialog title={words.people.removeTitle(leaving.name)} close={() => setLeaving(null)}>
          <div className="stack">
            <p style={{ margin: 0 }}>{words.people.removeLead}</p>
            <Button
              color="red"
              onClick={() => {
                const { userId } = leaving;
                setLeaving(null);
                change.run(() =>
                  ask(() => api.DELETE('/members/{id}', { params: { path: { id: userId } }, body: {} })),
                );
              }}
            >
              {words.people.remove}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function InviteDialog({ close }: { close: () => void }) {
  const words = useWords();
  const { api, account } = useScope();
  const queries = useQueryClient();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const invite = useAction(async () => {
    await ask(() => api.POST('/members/invitations', { body: { email: email.trim(), role } }));
    await queries.invalidateQueries({ queryKey: [account.id, 'people'] });
  });
  return (
    <Dialog title={words.people.invite} close={close}>
      {invite.done ? (
        <Alert color="mata" role="status">
          {words.people.invited}
        </Alert>
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
          <Select
            label={words.people.role}
            description={words.roleAbout[role]}
            data={roles.map((value) => ({
              value,
              label: words.roles[value],
              disabled: value === 'owner' && account.role !== 'owner',
            }))}
            value={role}
            onChange={(value) => value && setRole(value as Role)}
            allowDeselect={false}
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
