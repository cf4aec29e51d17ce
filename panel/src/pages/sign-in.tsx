import { Alert, Anchor, Button, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { authCall, Problem } from '../api/client.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Gate } from '../ui/gate.tsx';
import { FormError } from '../ui/parts.tsx';
import { PasskeyButton } from '../ui/passkey-button.tsx';
import { PasswordField } from '../ui/secret-fields.tsx';

export function SignIn() {
  const words = useWords();
  const [step, setStep] = useState<'password' | 'code'>('password');
  return (
    <Gate title={words.signIn.title}>
      {step === 'password' ? <Password toCode={() => setStep('code')} /> : <Code />}
    </Gate>
  );
}

/** Into the panel, with nothing kept of who was there before. */
export function useEnter() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return async () => {
    queries.clear();
    await navigate({ to: '/' });
  };
}

function Password({ toCode }: { toCode: () => void }) {
  const words = useWords();
  const enter = useEnter();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const byPassword = useAction(
    async () => {
      byPasskey.forget();
      const answer = await authCall<{ twoFactorRedirect?: boolean }>('POST', '/sign-in/email', {
        email: email.trim().toLowerCase(),
        password,
      });
      if (answer.twoFactorRedirect) toCode();
      else await enter();
    },
    {
      textOf: (problem) =>
        problem instanceof Problem && [400, 401, 422].includes(problem.status) ? words.signIn.wrong : problem,
    },
  );
  const byPasskey = useAction(
    async () => {
      byPassword.forget();
      const { startAuthentication } = await import('@simplewebauthn/browser');
      const options = await authCall<Parameters<typeof startAuthentication>[0]['optionsJSON']>(
        'GET',
        '/passkey/generate-authenticate-options',
      );
      const response = await startAuthentication({ optionsJSON: options });
      await authCall('POST', '/passkey/verify-authentication', { response });
      await enter();
    },
    { textOf: () => words.signIn.passkeyFailed },
  );

  return (
    <form className="stack" onSubmit={byPassword.submit}>
      <div>
        <h1>{words.signIn.title}</h1>
      </div>
      <TextInput
        label={words.signIn.email}
        type="email"
        autoComplete="username webauthn"
        required
        withAsterisk={false}
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <PasswordField label={words.signIn.password} value={password} onValue={setPassword} />
      <FormError error={byPassword.error ?? byPasskey.error} />
      <Button type="submit" size="md" loading={byPassword.busy}>
        {words.signIn.submit}
      </Button>
      <PasskeyButton label={words.signIn.passkey} busy={byPasskey.busy} onClick={() => byPasskey.run()} />
      <Anchor component={Link} to="/senha" ta="center">
        {words.signIn.forgot}
      </Anchor>
    </form>
  );
}

function Code() {
  const words = useWords();
  const enter = useEnter();
  const [backup, setBackup] = useState(false);
  const [code, setCode] = useState('');
  const verify = useAction(
    async () => {
      await authCall('POST', backup ? '/two-factor/verify-backup-code' : '/two-factor/verify-totp', {
        code: backup ? code.trim() : code.replace(/\D/g, ''),
      });
      await enter();
    },
    {
      textOf: (problem) => {
        if (!(problem instanceof Problem) || problem.status === 0) return problem;
        const locked = problem.status === 429 || /LOCKED|TOO_MANY/.test(problem.code);
        return locked ? words.signIn.locked : words.signIn.wrongCode;
      },
    },
  );
  return (
    <form className="stack" onSubmit={verify.submit}>
      <div>
        <h1>{words.signIn.codeTitle}</h1>
        <p className="soft" style={{ margin: 0 }}>
          {backup ? words.signIn.backupCode : words.signIn.codeLead}
        </p>
      </div>
      <TextInput
        key={String(backup)}
        autoFocus
        label={backup ? words.signIn.backupCode : words.signIn.code}
        inputMode={backup ? 'text' : 'numeric'}
        autoComplete="one-time-code"
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
      <FormError error={verify.error} />
      <Button type="submit" size="md" loading={verify.busy} disabled={code.trim().length < 6}>
        {words.signIn.submit}
      </Button>
      <Button
        variant="subtle"
        onClick={() => {
          setBackup(!backup);
          setCode('');
          verify.forget();
        }}
      >
        {backup ? words.signIn.useTotp : words.signIn.useBackup}
      </Button>
    </form>
  );
}

export function ForgotPassword() {
  const words = useWords();
  const [email, setEmail] = useState('');
  const request = useAction(() =>
    authCall('POST', '/request-password-reset', { email: email.trim().toLowerCase() }),
  );
  return (
    <Gate title={words.signIn.resetTitle}>
      <form className="stack" onSubmit={request.submit}>
        <div>
          <h1>{words.signIn.resetTitle}</h1>
          <p className="soft" style={{ margin: 0 }}>
            {words.signIn.resetLead}
          </p>
        </div>
        {request.done ? (
          <Alert color="mata" role="status">
            {words.signIn.resetSent}
          </Alert>
        ) : (
          <>
            <TextInput
              label={words.signIn.email}
              type="email"
              required
              withAsterisk={false}
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            <FormError error={request.error} />
            <Button type="submit" size="md" loading={request.busy}>
              {words.signIn.resetSubmit}
            </Button>
          </>
        )}
        <BackToSignIn />
      </form>
    </Gate>
  );
}

export function BackToSignIn({ children }: { children?: ReactNode }) {
  const words = useWords();
  return (
    <Anchor component={Link} to="/entrar" ta="center">
      {children ?? words.signIn.title}
    </Anchor>
  );
}
