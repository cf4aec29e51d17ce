import { Button, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { Gate } from '../ui/gate.tsx';
import { FormError, Rows } from '../ui/parts.tsx';
import { PasskeyButton } from '../ui/passkey-button.tsx';
import { Qr } from '../ui/qr.tsx';
import { CodeField, NewPasswordField, PasswordField } from '../ui/secret-fields.tsx';
import { desk, deskKey } from './api.ts';
import { digits, usePasskey } from './factor.tsx';
import { useConsoleWords } from './words.ts';

export function useEnter() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return async () => {
    queries.removeQueries({ queryKey: [deskKey] });
    await navigate({ to: '/operator' });
  };
}

export function OperatorSignIn() {
  const words = useConsoleWords();
  const enter = useEnter();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const signIn = useAction(async () => {
    byPasskey.forget();
    await ask(() => desk.POST('/sign-in', { body: { email: email.trim(), password, code: digits(code) } }));
    await enter();
  });
  const byPasskey = usePasskey(
    () => {
      signIn.forget();
      return ask(() => desk.POST('/sign-in/passkey/options', { body: {} }));
    },
    async (response) => {
      await ask(() => desk.POST('/sign-in/passkey', { body: { response } }));
      await enter();
    },
  );
  const { data: ways } = useQuery({
    queryKey: [deskKey, 'sign-in'],
    queryFn: () => ask(() => desk.GET('/sign-in')),
  });
  const byOidc = useAction(async () => {
    const { url } = await ask(() => desk.POST('/sign-in/oidc', { body: {} }));
    window.location.assign(url);
  });
  return (
    <Gate title={words.signIn.title} lead={words.signIn.lead} home="/operator">
      <form className="stack" onSubmit={signIn.submit}>
        <h1>{words.signIn.title}</h1>
        <TextInput
          label={words.signIn.email}
          type="email"
          autoComplete="username"
          required
          withAsterisk={false}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordField label={words.signIn.password} value={password} onValue={setPassword} />
        <CodeField required label={words.signIn.code} value={code} onValue={setCode} />
        <FormError error={signIn.error ?? byPasskey.error ?? byOidc.error} />
        <Button type="submit" size="md" loading={signIn.busy}>
          {words.signIn.submit}
        </Button>
        <PasskeyButton label={words.signIn.passkey} busy={byPasskey.busy} onClick={() => byPasskey.run()} />
        {ways && ways.oidc !== null && (
          <Button variant="default" size="md" loading={byOidc.busy} onClick={() => byOidc.run()}>
            {words.signIn.oidc}
          </Button>
        )}
      </form>
    </Gate>
  );
}

/** The secret behind `#`, which no server has seen. It leaves the address at once. */
function secretOfLink(): string {
  const secret = location.hash.slice(1);
  if (secret !== '') history.replaceState(null, '', location.pathname);
  return secret;
}

export function OperatorInvitation() {
  const words = useConsoleWords();
  const [token] = useState(secretOfLink);
  const { data, error } = useQuery({
    queryKey: [deskKey, 'invitation', token],
    queryFn: () => ask(() => desk.POST('/enrolment/look', { body: { token } })),
    retry: false,
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Gate title={words.enrol.title} lead={words.signIn.lead} home="/operator">
      {error ? (
        <div className="stack panel">
          <h1>{words.enrol.title}</h1>
          <FormError error={error} />
        </div>
      ) : !data ? (
        <div className="panel">
          <Rows count={3} />
        </div>
      ) : (
        <Enrolment
          token={token}
          lead={words.enrol.lead(data.name, words.roles[data.role])}
          email={data.email}
        />
      )}
    </Gate>
  );
}

function Enrolment({ token, lead, email }: { token: string; lead: string; email: string }) {
  const words = useConsoleWords();
  const [appUri, setAppUri] = useState<string | null>(null);
  const begin = useAction(async () =>
    setAppUri((await ask(() => desk.POST('/enrolment/app', { body: { token } }))).appUri),
  );
  if (appUri !== null) return <Factors token={token} appUri={appUri} email={email} />;
  return (
    <form className="stack" onSubmit={begin.submit}>
      <div>
        <h1>{words.enrol.title}</h1>
        <p className="soft" style={{ margin: 0 }}>
          {lead}
        </p>
      </div>
      <FormError error={begin.error} />
      <Button type="submit" size="md" loading={begin.busy}>
        {words.enrol.begin}
      </Button>
    </form>
  );
}

function Factors({ token, appUri, email }: { token: string; appUri: string; email: string }) {
  const words = useConsoleWords();
  const enter = useEnter();
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const accept = useAction(async () => {
    await ask(() => desk.POST('/enrolment/accept', { body: { token, password, code: digits(code) } }));
    await enter();
  });
  return (
    <form className="stack" onSubmit={accept.submit}>
      <h1>{words.enrol.title}</h1>
      <p style={{ margin: 0 }}>{words.enrol.scan}</p>
      <Qr text={appUri} label={words.enrol.scan} />
      <div>
        <div className="soft" style={{ fontSize: 13 }}>
          {words.enrol.secret}
        </div>
        <div className="code" data-testid="app-secret">
          {new URL(appUri).searchParams.get('secret')}
        </div>
      </div>
      <input type="text" autoComplete="username" value={email} readOnly hidden />
      <NewPasswordField
        label={words.enrol.password}
        description={words.enrol.passwordHint}
        value={password}
        onValue={setPassword}
      />
      <CodeField required label={words.enrol.code} value={code} onValue={setCode} />
      <FormError error={accept.error} />
      <Button type="submit" size="md" loading={accept.busy}>
        {words.enrol.submit}
      </Button>
    </form>
  );
}
