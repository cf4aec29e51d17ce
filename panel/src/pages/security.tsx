import { Alert, Badge, Button, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, authCall, Problem, person } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { MailChoice } from '../ui/mail-choice.tsx';
import { FormError, PageHead, Rows } from '../ui/parts.tsx';
import { Qr } from '../ui/qr.tsx';
import { CodeField, PasswordField } from '../ui/secret-fields.tsx';
import { SupportViews } from '../ui/support-views.tsx';
import { NewPasswordInput } from './secrets.tsx';

export function Security() {
  const words = useWords();
  return (
    <>
      <PageHead title={words.security.title} lead={words.security.emailNotice} />
      <div className="stack">
        <Frozen />
        <StepUp />
        <div className="cols">
          <Totp />
          <Passkeys />
        </div>
        <div className="cols">
          <Password />
          <Email />
        </div>
        <MailChoice />
        <Sessions />
        <SupportViews />
      </div>
    </>
  );
}

function Frozen() {
  const words = useWords();
  const { session } = useScope();
  if (session.frozenUntil === null) return null;
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="clock" />}>
      {words.security.frozen(dateTime(session.frozenUntil))}
    </Alert>
  );
}

/** A session that began with the password alone, of a person who has the app. */
function StepUp() {
  const words = useWords();
  const { session } = useScope();
  const [code, setCode] = useState('');
  const verify = useAction(
    () => authCall('POST', '/two-factor/verify-totp', { code: code.replace(/\D/g, '') }),
    { rereads: [everything], textOf: (problem) => wrongCode(problem, words) },
  );
  if (!session.twoFactorEnabled || session.secondFactor) return null;
  return (
    <form className="card stack narrow" aria-labelledby="stepup" onSubmit={verify.submit}>
      <h2 id="stepup">{words.security.stepUp}</h2>
      <p className="soft" style={{ margin: 0 }}>
        {words.security.stepUpLead}
      </p>
      <CodeField label={words.security.enterCode} value={code} onValue={setCode} />
      <FormError error={verify.error} />
      <Button type="submit" loading={verify.busy} disabled={code.replace(/\D/g, '').length !== 6}>
        {words.reauth.submit}
      </Button>
    </form>
  );
}

function Totp() {
  const words = useWords();
  const { session } = useScope();
  const [open, setOpen] = useState<'on' | 'off' | null>(null);
  const on = session.twoFactorEnabled;
  return (
    <section className="card" aria-labelledby="totp">
      <div className="cardhead">
        <h2 id="totp">{words.security.totp}</h2>
        <span className={`status ${on ? 'good' : 'wait'}`}>
          {on ? words.security.on : words.security.off}
        </span>
      </div>
      <p className="soft" style={{ marginTop: 0 }}>
        {words.security.totpLead}
      </p>
      <Button variant={on ? 'default' : 'filled'} onClick={() => setOpen(on ? 'off' : 'on')}>
        {on ? words.security.turnOff : words.security.turnOn}
      </Button>
      {open === 'on' && <TotpOn close={() => setOpen(null)} />}
      {open === 'off' && <TotpOff close={() => setOpen(null)} />}
    </section>
  );
}

/** The beginning of every key. */
const everything: string[] = [];

const wrongCode = (problem: unknown, words: ReturnType<typeof useWords>): unknown =>
  problem instanceof Problem && problem.status > 0 ? words.signIn.wrongCode : problem;

const wrongPassword = (problem: unknown, words: ReturnType<typeof useWords>): unknown =>
  problem instanceof Problem && problem.status === 400 ? words.reauth.wrong : problem;

function TotpOn({ close }: { close: () => void }) {
  const words = useWords();
  const [password, setPassword] = useState('');
  const [made, setMade] = useState<{ totpURI: string; backupCodes: string[] } | null>(null);
  const [code, setCode] = useState('');
  const begin = useAction(
    async () =>
      setMade(
        await authCall<{ totpURI: string; backupCodes: string[] }>('POST', '/two-factor/enable', {
          password,
        }),
      ),
    { textOf: (problem) => wrongPassword(problem, words) },
  );
  const finish = useAction(
    () => authCall('POST', '/two-factor/verify-totp', { code: code.replace(/\D/g, '') }),
    { rereads: [['session']], textOf: (problem) => wrongCode(problem, words) },
  );
  const secret = made ? (new URL(made.totpURI).searchParams.get('secret') ?? '') : '';
  return (
    <Dialog title={words.security.totp} close={close}>
      {!made ? (
        <form className="stack" onSubmit={begin.submit}>
          <PasswordField
            data-autofocus
            label={words.security.currentPassword}
            value={password}
            onValue={setPassword}
          />
          <FormError error={begin.error} />
          <Button type="submit" loading={begin.busy} disabled={password === ''}>
            {words.transfers.continue}
          </Button>
        </form>
      ) : !finish.done ? (
        <form className="stack" onSubmit={finish.submit}>
          <p style={{ margin: 0 }}>{words.security.scan}</p>
          <Qr text={made.totpURI} label={words.security.scan} />
          <div>
            <div className="soft" style={{ fontSize: 13 }}>
              {words.security.secret}
            </div>
            <div className="code" data-testid="totp-secret">
              {secret}
            </div>
          </div>
          <CodeField label={words.security.enterCode} value={code} onValue={setCode} />
          <FormError error={finish.error} />
          <Button type="submit" loading={finish.busy} disabled={code.replace(/\D/g, '').length !== 6}>
            {words.security.activate}
          </Button>
        </form>
      ) : (
        <div className="stack">
          <strong>{words.security.backupTitle}</strong>
          <p style={{ margin: 0 }}>{words.security.backupLead}</p>
          <div className="code" data-testid="backup-codes" style={{ whiteSpace: 'pre-line' }}>
            {made.backupCodes.join('\n')}
          </div>
          <Button onClick={close}>{words.keys.done}</Button>
        </div>
      )}
    </Dialog>
  );
}

function TotpOff({ close }: { close: () => void }) {
  const words = useWords();
  const [password, setPassword] = useState('');
  const disable = useAction(
    async () => {
      await authCall('POST', '/two-factor/disable', { password });
      close();
    },
    { rereads: [['session']], textOf: (problem) => wrongPassword(problem, words) },
  );
  return (
    <Dialog title={words.security.totp} close={close}>
      <form className="stack" onSubmit={disable.submit}>
        <PasswordField
          data-autofocus
          label={words.security.currentPassword}
          value={password}
          onValue={setPassword}
        />
        <FormError error={disable.error} />
        <Button type="submit" color="red" loading={disable.busy} disabled={password === ''}>
          {words.security.turnOff}
        </Button>
      </form>
    </Dialog>
  );
}

interface Passkey {
  id: string;
  name?: string;
  createdAt?: string;
}

function Passkeys() {
  const words = useWords();
  const { data } = useQuery({
    queryKey: ['passkeys'],
    queryFn: () => authCall<Passkey[]>('GET', '/passkey/list-user-passkeys'),
  });
  const rereads = [['passkeys'], ['session']];
  const { hostname, origin } = window.location;
  const nameless = hostname === '127.0.0.1' || hostname === '[::1]';
  const add = useAction(
    async () => {
      remove.forget();
      if (nameless) throw new Error('passkeys belong to names');
      const { startRegistration } = await import('@simplewebauthn/browser');
      const optionsJSON = await authCall<Parameters<typeof startRegistration>[0]['optionsJSON']>(
        'GET',
        '/passkey/generate-register-options',
      );
      const response = await startRegistration({ optionsJSON });
      await authCall('POST', '/passkey/verify-registration', {
        response,
        name: navigator.platform || 'passkey',
      });
    },
    {
      rereads,
      textOf: (problem) => {
        if (nameless) return words.security.passkeyNeedsName(origin.replace(hostname, 'localhost'));
        return problem instanceof Problem ? problem : words.security.passkeyFailed;
      },
    },
  );
  const remove = useAction(
    async (id: string) => {
      add.forget();
      await authCall('POST', '/passkey/delete-passkey', { id });
    },
    { rereads },
  );
  return (
    <section className="card" aria-labelledby="passkeys">
      <div className="cardhead">
        <h2 id="passkeys">{words.security.passkeys}</h2>
      </div>
      <p className="soft" style={{ marginTop: 0 }}>
        {words.security.passkeysLead}
      </p>
      {data && data.length > 0 ? (
        <ul className="moves" style={{ marginBottom: 14 }}>
          {data.map((one) => (
            <li key={one.id} className="keyrow" style={{ padding: '8px 0' }}>
              <span>
                {one.name ?? 'passkey'}
                {one.createdAt && <span className="soft num"> · {dateTime(one.createdAt)}</span>}
              </span>
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                disabled={remove.busy}
                onClick={() => remove.run(one.id)}
              >
                {words.security.removePasskey}
              </Button>
            </li>
          ))}
        </ul>
      ) : (
        <p className="soft">{words.security.noPasskeys}</p>
      )}
      <FormError error={add.error ?? remove.error} />
      <Button
        variant="default"
        leftSection={<Icon name="finger" size={18} />}
        loading={add.busy}
        onClick={() => add.run()}
      >
        {words.security.addPasskey}
      </Button>
    </section>
  );
}

function Password() {
  const words = useWords();
  const [current, setCurrent] = useState('');
  const [fresh, setFresh] = useState('');
  const change = useAction(
    async () => {
      await authCall('POST', '/change-password', {
        currentPassword: current,
        newPassword: fresh,
        revokeOtherSessions: true,
      });
      setCurrent('');
      setFresh('');
    },
    {
      rereads: [everything],
      textOf: (problem) => {
        const code = problem instanceof Problem ? problem.code : '';
        if (code === 'WEAK_PASSWORD') return words.signIn.weak;
        return code === 'INVALID_PASSWORD' ? words.reauth.wrong : problem;
      },
    },
  );
  return (
    <section className="card" aria-labelledby="password">
      <h2 id="password">{words.security.password}</h2>
      <form className="stack narrow" onSubmit={change.submit}>
        <PasswordField label={words.security.currentPassword} value={current} onValue={setCurrent} />
        <NewPasswordInput label={words.signIn.newPassword} value={fresh} onValue={setFresh} />
        <FormError error={change.error} />
        {change.done && (
          <Alert color="mata" role="status">
            {words.security.passwordChanged}
          </Alert>
        )}
        <Button
          type="submit"
          variant="default"
          loading={change.busy}
          disabled={current === '' || fresh.length < 12}
          style={{ alignSelf: 'flex-start' }}
        >
          {words.security.changePassword}
        </Button>
      </form>
    </section>
  );
}

function Email() {
  const words = useWords();
  const { session } = useScope();
  const [email, setEmail] = useState('');
  const [sentTo, setSentTo] = useState<string | null>(null);
  const change = useAction(async () => {
    setSentTo(null);
    const wanted = email.trim().toLowerCase();
    await ask(() => person.POST('/email', { body: { email: wanted } }));
    setEmail('');
    setSentTo(wanted);
  });
  return (
    <section className="card" aria-labelledby="email">
      <h2 id="email">{words.security.email}</h2>
      <form className="stack narrow" onSubmit={change.submit}>
        <div>
          <p style={{ margin: '0 0 4px' }}>{words.security.emailNow(session.email)}</p>
          <p className="soft" style={{ margin: 0 }}>
            {words.security.emailLead}
          </p>
        </div>
        <TextInput
          label={words.security.newEmail}
          type="email"
          autoComplete="off"
          required
          withAsterisk={false}
          maxLength={254}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <FormError error={change.error} />
        {sentTo && (
          <Alert color="mata" role="status">
            {words.security.emailSent(sentTo)}
          </Alert>
        )}
        <Button
          type="submit"
          variant="default"
          loading={change.busy}
          disabled={!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email.trim())}
          style={{ alignSelf: 'flex-start' }}
        >
          {words.security.changeEmail}
        </Button>
      </form>
    </section>
  );
}

function Sessions() {
  const words = useWords();
  const queries = useQueryClient();
  const { data } = useQuery({ queryKey: ['sessions'], queryFn: () => ask(() => person.GET('/sessions')) });
  const end = useAction((work: () => Promise<unknown>) => work(), { rereads: [['sessions']] });
  const endAll = useAction(async () => {
    await ask(() => person.POST('/sessions/end-all', { body: {} }));
    queries.setQueryData(['session'], null);
  });
  return (
    <section className="card" aria-labelledby="sessions">
      <div className="cardhead">
        <h2 id="sessions">{words.security.sessions}</h2>
        <span className="soft">{words.security.sessionsLead}</span>
      </div>
      {!data ? (
        <Rows count={2} />
      ) : (
        <>
          <ul className="moves">
            {data.sessions.map((one) => (
              <li key={one.id} className="keyrow">
                <div style={{ minWidth: 0 }}>
                  <strong>{browserOf(one.userAgent)}</strong>{' '}
                  {one.current && (
                    <Badge variant="light" tt="none" color="cobre">
                      {words.security.current}
                    </Badge>
                  )}
                  <div className="soft num" style={{ fontSize: 14 }}>
                    {one.ipAddress} · {words.security.since(dateTime(one.createdAt))}
                  </div>
                </div>
                {!one.current && (
                  <Button
                    size="sm"
                    variant="subtle"
                    color="red"
                    disabled={end.busy}
                    onClick={() =>
                      end.run(() =>
                        ask(() =>
                          person.DELETE('/sessions/{id}', { params: { path: { id: one.id } }, body: {} }),
                        ),
                      )
                    }
                  >
                    {words.security.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
          <FormError error={end.error ?? endAll.error} />
          <div style={{ display: 'flex', gap: 10, flexWrap: 'wrap', marginTop: 12 }}>
            {data.sessions.length > 1 && (
              <Button
                variant="default"
                disabled={end.busy}
                onClick={() => end.run(() => ask(() => person.POST('/sessions/end-others', { body: {} })))}
              >
                {words.security.endOthers}
              </Button>
            )}
            <Button variant="default" c="var(--bad)" loading={endAll.busy} onClick={() => endAll.run()}>
              {words.security.endAll}
            </Button>
          </div>
        </>
      )}
    </section>
  );
}

/** `Chrome · Windows`, as far as a browser says. */
function browserOf(agent: string | null): string {
  const text = agent ?? '';
  const browser = [
    ['Edg/', 'Edge'],
    ['OPR/', 'Opera'],
    ['Firefox/', 'Firefox'],
    ['Chrome/', 'Chrome'],
    ['Safari/', 'Safari'],
  ].find(([sign]) => text.includes(sign as string))?.[1];
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux'].find((name) =>
    text.includes(name),
  );
  return [browser ?? 'Navegador', system].filter(Boolean).join(' · ');
}
