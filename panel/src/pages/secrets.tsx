import { Alert, Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, authCall, Problem, person } from '../api/client.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Gate } from '../ui/gate.tsx';
import { FormError, Rows } from '../ui/parts.tsx';
import { NewPasswordField } from '../ui/secret-fields.tsx';
import { BackToSignIn, useEnter } from './sign-in.tsx';

/** The secret of a link stands behind `#`, which no server sees. */
const secretOfLink = () => decodeURIComponent(window.location.hash.slice(1));

function NewPasswordInput({
  label,
  value,
  onValue,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
}) {
  const words = useWords();
  return (
    <NewPasswordField
      label={label}
      description={words.signIn.passwordHint}
      value={value}
      onValue={onValue}
      error={value !== '' && value.length < 12 ? words.signIn.tooShort : null}
    />
  );
}

export { NewPasswordInput };

export function NewPassword() {
  const words = useWords();
  const [token] = useState(secretOfLink);
  const [password, setPassword] = useState('');
  const reset = useAction(() => authCall('POST', '/reset-password', { token, newPassword: password }), {
    textOf: (problem) => {
      const code = problem instanceof Problem ? problem.code : '';
      if (code === 'WEAK_PASSWORD') return words.signIn.weak;
      return code === 'INVALID_TOKEN' ? words.signIn.invalidToken : problem;
    },
  });
  return (
    <Gate title={words.signIn.newPasswordTitle}>
      <form className="stack" onSubmit={reset.submit}>
        <h1>{words.signIn.newPasswordTitle}</h1>
        {reset.done ? (
          <Alert color="mata" role="status">
            {words.signIn.newPasswordDone}
          </Alert>
        ) : (
          <>
            <NewPasswordInput label={words.signIn.newPassword} value={password} onValue={setPassword} />
            <FormError error={reset.error} />
            <Button type="submit" size="md" loading={reset.busy} disabled={password.length < 12}>
              {words.common.save}
            </Button>
          </>
        )}
        <BackToSignIn />
      </form>
    </Gate>
  );
}

/** The link in the mail to a new address: the press makes it theirs, since mail programs open links by themselves. */
export function NewEmail() {
  const words = useWords().signIn;
  return (
    <LinkAction
      title={words.newEmailTitle}
      lead={words.newEmailLead}
      submit={words.newEmailSubmit}
      done={words.newEmailDone}
      act={(token) => ask(() => person.POST('/email/confirm', { body: { token } }))}
    />
  );
}

/** From the mail to the old address. */
export function CancelEmail() {
  const words = useWords().signIn;
  return (
    <LinkAction
      title={words.cancelEmailTitle}
      lead={words.cancelEmailLead}
      submit={words.cancelEmailSubmit}
      done={words.cancelEmailDone}
      act={(token) => ask(() => person.POST('/email/cancel', { body: { token } }))}
    />
  );
}

function LinkAction(props: {
  title: string;
  lead: string;
  submit: string;
  done: string;
  act: (token: string) => Promise<unknown>;
}) {
  const words = useWords();
  const [token] = useState(secretOfLink);
  const action = useAction(() => props.act(token), {
    textOf: (problem) =>
      problem instanceof Problem && problem.status === 400 ? words.signIn.invalidToken : problem,
  });
  return (
    <Gate title={props.title}>
      <form className="stack" onSubmit={action.submit}>
        <div>
          <h1>{props.title}</h1>
          <p className="soft" style={{ margin: 0 }}>
            {props.lead}
          </p>
        </div>
        {action.done ? (
          <Alert color="mata" role="status">
            {props.done}
          </Alert>
        ) : (
          <>
            <FormError error={action.error} />
            <Button type="submit" size="md" loading={action.busy}>
              {props.submit}
            </Button>
          </>
        )}
        <BackToSignIn />
      </form>
    </Gate>
  );
}

/**
 * Whether the person who has accepted is signed in: one who chose a password is, by it, and one who was here before may be. Else they sign in by
 * hand, with what their account asks for.
 */
async function isInside(
  invited: { email: string; existing: boolean } | undefined,
  password: string,
): Promise<boolean> {
  if (invited === undefined) return false;
  try {
    if (!invited.existing)
      await authCall('POST', '/sign-in/email', { email: invited.email.toLowerCase(), password });
    const session = await ask(() => person.GET('/session'));
    return session.email === invited.email.toLowerCase();
  } catch {
    return false;
  }
}

export function Invitation() {
  const words = useWords();
  const [token] = useState(secretOfLink);
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const enter = useEnter();
  const { data, error: unknown } = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => ask(() => person.POST('/invitations/look', { body: { token } })),
    retry: false,
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const accept = useAction(async () => {
    const fields = data?.existing ? {} : { name, password };
    await ask(() => person.POST('/invitations/accept', { body: { token, ...fields } }));
    if (await isInside(data, password)) await enter();
  });
  return (
    <Gate title={words.signIn.accept}>
      {unknown ? (
        <div className="stack panel">
          <FormError error={unknown} />
          <BackToSignIn />
        </div>
      ) : !data ? (
        <div className="panel">
          <Rows count={3} />
        </div>
      ) : (
        <form className="stack" onSubmit={accept.submit}>
          <div>
            <h1>{words.signIn.inviteTitle(data.companyName)}</h1>
            <p className="soft" style={{ margin: 0 }}>
              {data.email}. {words.signIn.inviteLead(data.accountName, words.roles[data.role])}
            </p>
          </div>
          {accept.done ? (
            <>
              <Alert color="mata" role="status">
                {words.signIn.accepted}
              </Alert>
              <BackToSignIn />
            </>
          ) : (
            <>
              {data.existing ? (
                <p style={{ margin: 0 }}>{words.signIn.inviteExisting}</p>
              ) : (
                <>
                  <TextInput
                    label={words.signIn.yourName}
                    autoComplete="name"
                    required
                    withAsterisk={false}
                    minLength={2}
                    maxLength={80}
                    value={name}
                    onChange={(event) => setName(event.currentTarget.value)}
                  />
                  <NewPasswordInput label={words.signIn.password} value={password} onValue={setPassword} />
                </>
              )}
              <FormError error={accept.error} />
              <Button type="submit" size="md" loading={accept.busy}>
                {words.signIn.accept}
              </Button>
            </>
          )}
        </form>
      )}
    </Gate>
  );
}
