import { Anchor, Button } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ask } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { Gate } from '../ui/gate.tsx';
import { FormError, Rows } from '../ui/parts.tsx';
import { PasskeyButton } from '../ui/passkey-button.tsx';
import { CodeField } from '../ui/secret-fields.tsx';
import { desk, useOperator } from './api.ts';
import { digits, usePasskey } from './factor.tsx';
import { useEnter } from './gate.tsx';
import { useConsoleWords } from './words.ts';

/** The answer of the OpenID provider, in the address. It leaves the address at once: its code counts once. */
function answerOfAddress() {
  const query = new URLSearchParams(location.search);
  const answer = Object.fromEntries(
    (['code', 'state', 'iss', 'error'] as const).flatMap((name) => {
      const value = query.get(name);
      return value ? [[name, value]] : [];
    }),
  );
  if (query.size > 0) history.replaceState(null, '', location.pathname);
  return answer as Partial<Record<'code' | 'state' | 'iss' | 'error', string>>;
}

/** The page that the OpenID provider leads back to: a sign-in, or an account that is bound. */
export function OperatorOidc() {
  const [answer] = useState(answerOfAddress);
  return answer.state?.startsWith('vincular.') ? <Bind answer={answer} /> : <SignIn answer={answer} />;
}

type Answer = ReturnType<typeof answerOfAddress>;

/** The answer is sent once, also where the page is drawn twice. */
function useOnce(act: () => void, ready = true): void {
  const [begun] = useState({ is: false });
  useEffect(() => {
    if (begun.is || !ready) return;
    begun.is = true;
    act();
  }, [begun, act, ready]);
}

function Around({ error }: { error: unknown }) {
  const words = useConsoleWords();
  return (
    <Gate title={words.signIn.title} lead={words.signIn.lead} home="/operator">
      <div className="stack panel">
        <h1>{words.signIn.title}</h1>
        {error ? <FormError error={error} /> : <Rows count={2} />}
        {Boolean(error) && (
          <Anchor component={Link} to="/operator/entrar" ta="center">
            {words.oidc.again}
          </Anchor>
        )}
      </div>
    </Gate>
  );
}

function SignIn({ answer }: { answer: Answer }) {
  const enter = useEnter();
  const [wantsFactor, setWantsFactor] = useState(false);
  const send = useAction(async () => {
    const { signedIn } = await ask(() => desk.POST('/sign-in/oidc/answer', { body: answer }));
    if (signedIn) await enter();
    else setWantsFactor(true);
  });
  useOnce(() => send.run());
  return wantsFactor ? <SecondFactor /> : <Around error={send.error} />;
}

function Bind({ answer }: { answer: Answer }) {
  const navigate = useNavigate();
  // Read first: a change carries its sign.
  const { data, error } = useOperator();
  const send = useAction(async () => {
    await ask(() => desk.POST('/factors/oidc/answer', { body: answer }));
    await navigate({ to: '/operator/acesso' });
  });
  useOnce(() => send.run(), data !== undefined);
  return <Around error={send.error ?? error} />;
}

function SecondFactor() {
  const words = useConsoleWords();
  const enter = useEnter();
  const [code, setCode] = useState('');
  const byCode = useAction(async () => {
    byPasskey.forget();
    await ask(() => desk.POST('/sign-in/oidc/factor', { body: { code: digits(code) } }));
    await enter();
  });
  const byPasskey = usePasskey(
    () => {
      byCode.forget();
      return ask(() => desk.POST('/sign-in/passkey/options', { body: {} }));
    },
    async (response) => {
      await ask(() => desk.POST('/sign-in/oidc/factor', { body: { response } }));
      await enter();
    },
  );
  return (
    <Gate title={words.signIn.title} lead={words.signIn.lead} home="/operator">
      <form className="stack" onSubmit={byCode.submit}>
        <div>
          <h1>{words.oidc.factor}</h1>
          <p className="soft" style={{ margin: 0 }}>
            {words.oidc.factorLead}
          </p>
        </div>
        <CodeField required label={words.signIn.code} value={code} onValue={setCode} />
        <FormError error={byCode.error ?? byPasskey.error} />
        <Button type="submit" size="md" loading={byCode.busy}>
          {words.signIn.submit}
        </Button>
        <PasskeyButton label={words.signIn.passkey} busy={byPasskey.busy} onClick={() => byPasskey.run()} />
      </form>
    </Gate>
  );
}
