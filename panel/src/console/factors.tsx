import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, Problem } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { Icon } from '../ui/icons.tsx';
import { FormError, PageHead } from '../ui/parts.tsx';
import { desk, deskKey, type Factors } from './api.ts';
import { At, Fact, Shown } from './parts.tsx';
import { useConsoleWords } from './words.ts';

const factorsKey = [deskKey, 'factors'];

/** How the operator who is signed in comes in. */
export function FactorsPage() {
  const { factors: words } = useConsoleWords();
  const query = useQuery({ queryKey: factorsKey, queryFn: () => ask(() => desk.GET('/factors')) });
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      <Shown query={query}>
        {(factors) => (
          <div className="stack">
            <Passkeys passkeys={factors.passkeys} />
            {(factors.oidc !== null || factors.identity !== null) && (
              <Identity oidc={factors.oidc} identity={factors.identity} />
            )}
          </div>
        )}
      </Shown>
    </>
  );
}

function Passkeys({ passkeys }: Pick<Factors, 'passkeys'>) {
  const { factors: words } = useConsoleWords();
  const remove = useAction(
    (id: string) =>
      ask(() => desk.POST('/factors/passkeys/{id}/removal', { params: { path: { id } }, body: {} })),
    { rereads: [factorsKey] },
  );
  return (
    <section className="card" aria-labelledby="passkeys">
      <h2 id="passkeys">{words.passkeys}</h2>
      <p className="soft">{words.passkeysLead}</p>
      {passkeys.length === 0 ? (
        <p className="soft">{words.none}</p>
      ) : (
        <div className="scroll">
          <table className="table folding">
            <thead>
              <tr>
                <th scope="col">{words.name}</th>
                <th scope="col">{words.added}</th>
                <th scope="col">{words.used}</th>
                <th scope="col">
                  <span className="visuallyhidden">{words.remove}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {passkeys.map(({ id, name, synced, addedAt, usedAt }) => (
                <tr key={id}>
                  <td className="wide">
                    {name}
                    {synced && <div className="soft">{words.synced}</div>}
                  </td>
                  <td data-label={words.added}>
                    <At at={addedAt} />
                  </td>
                  <td data-label={words.used}>{usedAt === null ? words.never : <At at={usedAt} />}</td>
                  <td>
                    <Button
                      size="compact-sm"
                      variant="subtle"
                      color="red"
                      aria-label={words.removeOne(name)}
                      disabled={remove.busy}
                      onClick={() => remove.run(id)}
                    >
                      {words.remove}
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <FormError error={remove.error} />
      <NewPasskey />
    </section>
  );
}

/** The account at the OpenID provider, bound once. */
function Identity({ oidc, identity }: Pick<Factors, 'oidc' | 'identity'>) {
  const { factors: words } = useConsoleWords();
  const bind = useAction(async () => {
    const { url } = await ask(() => desk.POST('/factors/oidc', { body: {} }));
    window.location.assign(url);
  });
  const remove = useAction(() => ask(() => desk.POST('/factors/oidc/removal', { body: {} })), {
    rereads: [factorsKey],
  });
  return (
    <section className="card" aria-labelledby="identity">
      <h2 id="identity">{words.identity}</h2>
      <p className="soft">{words.identityLead}</p>
      {identity === null ? (
        <>
          <FormError error={bind.error} />
          <dl className="facts">
            <Fact name={words.issuer}>
              <span className="breaks">{oidc}</span>
            </Fact>
          </dl>
          <Button variant="default" mt="md" loading={bind.busy} onClick={() => bind.run()}>
            {words.bind}
          </Button>
        </>
      ) : (
        <>
          <dl className="facts">
            <Fact name={words.issuer}>
              <span className="breaks">{identity.issuer}</span>
            </Fact>
            <Fact name={words.subject}>
              <span className="mono breaks">{identity.subject}</span>
            </Fact>
            <Fact name={words.bound}>
              <At at={identity.boundAt} />
            </Fact>
          </dl>
          <FormError error={remove.error} />
          <Button variant="default" mt="md" loading={remove.busy} onClick={() => remove.run()}>
            {words.unbind}
          </Button>
        </>
      )}
    </section>
  );
}

/** Passkeys belong to names: an address has none. */
const namelessAt = ({ hostname }: Location): boolean => hostname === '127.0.0.1' || hostname === '[::1]';

function NewPasskey() {
  const { factors: words } = useConsoleWords();
  const [name, setName] = useState('');
  const nameless = namelessAt(window.location);
  const add = useAction(
    async () => {
      const { startRegistration } = await import('@simplewebauthn/browser');
      const options = await ask(() => desk.POST('/factors/passkeys/options', { body: {} }));
      const response = await startRegistration({ optionsJSON: options });
      await ask(() => desk.POST('/factors/passkeys', { body: { name: name.trim(), response } }));
      setName('');
    },
    {
      rereads: [factorsKey],
      textOf: (problem) => (problem instanceof Problem ? problem : words.notMade),
    },
  );
  if (nameless) {
    const { hostname, origin } = window.location;
    return <p className="soft">{words.needsName(origin.replace(hostname, 'localhost'))}</p>;
  }
  return (
    <form className="stack narrow" style={{ marginTop: 18 }} onSubmit={add.submit}>
      <TextInput
        label={words.newName}
        description={words.newNameHint}
        required
        withAsterisk={false}
        maxLength={60}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <FormError error={add.error} />
      <Button
        type="submit"
        variant="default"
        leftSection={<Icon name="finger" size={18} />}
        loading={add.busy}
        style={{ alignSelf: 'start' }}
      >
        {words.add}
      </Button>
    </form>
  );
}
