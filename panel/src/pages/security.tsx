import { Alert, Badge, Button, Modal, PasswordInput, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ask, authCall, Problem, person } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { FormError, PageHead, Rows } from '../ui/parts.tsx';
import { Qr } from '../ui/qr.tsx';
import { NewPasswordInput } from './secrets.tsx';

export function Security() {
  const words = useWords();
  return (
    <>
      <PageHead title={words.security.title} lead={words.security.emailNotice} />
      <div className="stack">
        <div className="cols">
          <Totp />
          <Passkeys />
        </div>
        <div className="cols">
          <Password />
          <Email />
        </div>
        <Sessions />
      </div>
    </>
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

function PasswordField({ value, onValue }: { value: string; onValue: (value: string) => void }) {
  const words = useWords();
  return (
    <PasswordInput
      data-autofocus
      label={words.security.currentPassword}
      autoComplete="current-password"
      required
      withAsterisk={false}
      value={value}
      onChange={(event) => onValue(event.currentTarget.value)}
      visibilityToggleButtonProps={{ 'aria-hidden': true }}
    />
  );
}

function TotpOn({ close }: { close: () => void }) {
  const words = useWords();
  const queries = useQueryClient();
  const [password, setPassword] = useState('');
  const [made, setMade] = useState<{ totpURI: string; backupCodes: string[] } | null>(null);
  const [code, setCode] = useState('');
  const [done, setDone] = useState(false);
  const [error, setError] = useState<unknown>(null);

  async function begin(event: FormEvent) {
    event.preventDefault();
    setError(null);
    try {
      setMade(
        await authCall<{ totpURI: string; backupCodes: string[] }>('POST', '/two-factor/enable', {
          password,
        }),
      );
    } catch (problem) {
      setError(problem instanceof Problem && problem.status === 400 ? words.reauth.wrong : problem);
    }
  }
  async function finish(event: FormEvent) {
    event.preventDefault();
    setError(null);
    try {
      await authCall('POST', '/two-factor/verify-totp', { code: code.replace(/\D/g, '') });
      setDone(true);
      await queries.invalidateQueries({ queryKey: ['session'] });
    } catch (problem) {
      setError(problem instanceof Problem && problem.status > 0 ? words.signIn.wrongCode : problem);
    }
  }
  const secret = made ? (new URL(made.totpURI).searchParams.get('secret') ?? '') : '';
  return (
    <Modal
      opened
      onClose={close}
      title={words.security.totp}
      closeButtonProps={{ 'aria-label': words.common.close }}
    >
      {!made ? (
        <form className="stack" onSubmit={begin}>
          <PasswordField value={password} onValue={setPassword} />
          <FormError error={error} />
          <Button type="submit" disabled={password === ''}>
            {words.transfers.continue}
          </Button>
        </form>
      ) : !done ? (
        <form className="stack" onSubmit={finish}>
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
          <TextInput
            label={words.security.enterCode}
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={7}
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
          <FormError error={error} />
          <Button type="submit" disabled={code.replace(/\D/g, '').length !== 6}>
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
    </Modal>
  );
}

function TotpOff({ close }: { close: () => void }) {
  const words = useWords();
  const queries = useQueryClient();
  const [password, setPassword] = useState('');
  const [error, setError] = useState<unknown>(null);
  async function submit(event: FormEvent) {
    event.preventDefault();
    try {
      await authCall('POST', '/two-factor/disable', { password });
      await queries.invalidateQueries({ queryKey: ['session'] });
      close();
    } catch (problem) {
      setError(problem instanceof Problem && problem.status === 400 ? words.reauth.wrong : problem);
    }
  }
  return (
    <Modal
      opened
      onClose={close}
      title={words.security.totp}
      closeButtonProps={{ 'aria-label': words.common.close }}
    >
      <form className="stack" onSubmit={submit}>
        <PasswordField value={password} onValue={setPassword} />
        <FormError error={error} />
        <Button type="submit" color="red" disabled={password === ''}>
          {words.security.turnOff}
        </Button>
      </form>
    </Modal>
  );
}

interface Passkey {
  id: string;
  name?: string;
  createdAt?: string;
}

function Passkeys() {
  const { words, language } = useText();
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const { data } = useQuery({
    queryKey: ['passkeys'],
    queryFn: () => authCall<Passkey[]>('GET', '/passkey/list-user-passkeys'),
  });
  const refresh = async () => {
    await queries.invalidateQueries({ queryKey: ['passkeys'] });
    await queries.invalidateQueries({ queryKey: ['session'] });
  };
  async function add() {
    setError(null);
    const { hostname, origin } = window.location;
    if (hostname === '127.0.0.1' || hostname === '[::1]') {
      setError(words.security.passkeyNeedsName(origin.replace(hostname, 'localhost')));
      return;
    }
    try {
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
      await refresh();
    } catch (problem) {
      setError(problem instanceof Problem ? problem : words.security.passkeyFailed);
    }
  }
  async function remove(id: string) {
    setError(null);
    try {
      await authCall('POST', '/passkey/delete-passkey', { id });
      await refresh();
    } catch (problem) {
      setError(problem);
    }
  }
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
                {one.createdAt && <span className="soft num"> · {dateTime(one.createdAt, language)}</span>}
              </span>
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => void remove(one.id)}>
                {words.security.removePasskey}
              </Button>
            </li>
          ))}
        </ul>
      ) : (
        <p className="soft">{words.security.noPasskeys}</p>
      )}
      <FormError error={error} />
      <Button variant="default" leftSection={<Icon name="finger" size={18} />} onClick={() => void add()}>
        {words.security.addPasskey}
      </Button>
    </section>
  );
}

function Password() {
  const words = useWords();
  const [current, setCurrent] = useState('');
  const [fresh, setFresh] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [done, setDone] = useState(false);
  const queries = useQueryClient();
  async function submit(event: FormEvent) {
    event.preventDefault();
    setError(null);
    setDone(false);
    try {
      await authCall('POST', '/change-password', {
        currentPassword: current,
        newPassword: fresh,
        revokeOtherSessions: true,
      });
      setCurrent('');
      setFresh('');
      setDone(true);
      await queries.invalidateQueries();
    } catch (problem) {
      const code = problem instanceof Problem ? problem.code : '';
      setError(
        code === 'WEAK_PASSWORD'
          ? words.signIn.weak
          : code === 'INVALID_PASSWORD'
            ? words.reauth.wrong
            : problem,
      );
    }
  }
  return (
    <section className="card" aria-labelledby="password">
      <h2 id="password">{words.security.password}</h2>
      <form className="stack narrow" onSubmit={submit}>
        <PasswordInput
          label={words.security.currentPassword}
          autoComplete="current-password"
          required
          withAsterisk={false}
          value={current}
          onChange={(event) => setCurrent(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-hidden': true }}
        />
        <NewPasswordInput label={words.signIn.newPassword} value={fresh} onValue={setFresh} />
        <FormError error={error} />
        {done && (
          <Alert color="mata" role="status">
            {words.security.passwordChanged}
          </Alert>
        )}
        <Button
          type="submit"
          variant="default"
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
  const [error, setError] = useState<unknown>(null);
  const [sentTo, setSentTo] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setError(null);
    setSentTo(null);
    try {
      const wanted = email.trim().toLowerCase();
      await ask(() => person.POST('/email', { body: { email: wanted } }));
      setEmail('');
      setSentTo(wanted);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }
  return (
    <section className="card" aria-labelledby="email">
      <h2 id="email">{words.security.email}</h2>
      <form className="stack narrow" onSubmit={submit}>
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
        <FormError error={error} />
        {sentTo && (
          <Alert color="mata" role="status">
            {words.security.emailSent(sentTo)}
          </Alert>
        )}
        <Button
          type="submit"
          variant="default"
          loading={busy}
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
  const { words, language } = useText();
  const queries = useQueryClient();
  const { data } = useQuery({ queryKey: ['sessions'], queryFn: () => ask(() => person.GET('/sessions')) });
  const after = () => queries.invalidateQueries({ queryKey: ['sessions'] });
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
                    {one.ipAddress} · {words.security.since(dateTime(one.createdAt, language))}
                  </div>
                </div>
                {!one.current && (
                  <Button
                    size="sm"
                    variant="subtle"
                    color="red"
                    onClick={() =>
                      void ask(() =>
                        person.DELETE('/sessions/{id}', { params: { path: { id: one.id } }, body: {} }),
                      ).then(after)
                    }
                  >
                    {words.security.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
          <div style={{ display: 'flex', gap: 10, flexWrap: 'wrap', marginTop: 12 }}>
            {data.sessions.length > 1 && (
              <Button
                variant="default"
                onClick={() => void ask(() => person.POST('/sessions/end-others', { body: {} })).then(after)}
              >
                {words.security.endOthers}
              </Button>
            )}
            <Button
              variant="default"
              c="red.8"
              onClick={() =>
                void ask(() => person.POST('/sessions/end-all', { body: {} })).then(() => {
                  queries.setQueryData(['session'], null);
                })
              }
            >
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
