import { Button, ColorInput, FileButton, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ask, type MerchantProfile } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { cnpjText, hasOwn, Letterhead, useMerchantProfile } from '../ui/merchant.tsx';
import { FormError, PageHead, Rows, Trouble } from '../ui/parts.tsx';

/** How the merchant shows itself on receipts, in mails and to payers. */
export function Company() {
  const words = useWords();
  const { may, account } = useScope();
  const { data, error, refetch } = useMerchantProfile();
  return (
    <>
      <PageHead title={words.company.title} lead={words.company.lead} />
      {error && !data ? (
        <Trouble error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Rows />
      ) : (
        <div className="cols">
          <div className="stack">
            {may('members') ? (
              <>
                <Details key={account.id} profile={data} />
                <Logo profile={data} />
              </>
            ) : (
              <p className="soft">{words.company.notYours}</p>
            )}
          </div>
          <section className="card stack" aria-labelledby="preview" style={{ alignSelf: 'start' }}>
            <h2 id="preview">{words.company.preview}</h2>
            <Letterhead profile={data} />
            {!hasOwn(data) && <p className="soft">{words.company.withoutOwn}</p>}
          </section>
        </div>
      )}
    </>
  );
}

function Details({ profile }: { profile: MerchantProfile }) {
  const words = useWords();
  const { api, account } = useScope();
  const [displayName, setDisplayName] = useState(profile.displayName ?? '');
  const [legalName, setLegalName] = useState(profile.legalName ?? '');
  const [cnpj, setCnpj] = useState(profile.cnpj === null ? '' : cnpjText(profile.cnpj));
  const [colour, setColour] = useState(profile.colour ?? '');
  const save = useAction(
    () =>
      ask(() =>
        api.POST('/merchant-profile', {
          body: {
            ...(displayName.trim() !== '' && { displayName: displayName.trim() }),
            ...(legalName.trim() !== '' && { legalName: legalName.trim() }),
            ...(cnpj.trim() !== '' && { cnpj: cnpj.trim() }),
            ...(colour !== '' && { colour }),
          },
        }),
      ),
    { rereads: [[account.id, 'merchant']] },
  );
  return (
    <form className="card stack" onSubmit={save.submit}>
      <TextInput
        label={words.common.name}
        description={words.company.nameHint(account.name)}
        maxLength={60}
        autoComplete="organization"
        value={displayName}
        onChange={(event) => setDisplayName(event.currentTarget.value)}
      />
      <TextInput
        label={words.company.legalName}
        description={words.company.legalNameHint}
        maxLength={120}
        autoComplete="off"
        value={legalName}
        onChange={(event) => setLegalName(event.currentTarget.value)}
      />
      <TextInput
        label="CNPJ"
        description={words.company.cnpjHint}
        maxLength={20}
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        value={cnpj}
        onChange={(event) => setCnpj(event.currentTarget.value)}
      />
      <ColorInput
        label={words.company.colour}
        description={words.company.colourHint}
        format="hex"
        withEyeDropper={false}
        withPicker={false}
        closeOnColorSwatchClick
        // Below, it would lie on the button that saves.
        popoverProps={{ position: 'top-end' }}
        swatches={['#0f4f3e', '#14467c', '#5b2a86', '#8f1f25', '#7f441b', '#33403a']}
        value={colour}
        onChange={setColour}
      />
      <FormError error={save.error} />
      <Button type="submit" loading={save.busy}>
        {words.common.save}
      </Button>
      <div aria-live="polite">{save.done && <p className="soft">{words.company.saved}</p>}</div>
    </form>
  );
}

/** The limits of the service. */
const widest = 480;
const tallest = 160;

/** Any picture that this browser can show as a PNG within the limits. @throws when it can show none */
async function pngOf(file: File): Promise<string> {
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, widest / picture.width, tallest / picture.height);
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.floor(picture.width * scale));
  canvas.height = Math.max(1, Math.floor(picture.height * scale));
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/png').replace('data:image/png;base64,', '');
}

function Logo({ profile }: { profile: MerchantProfile }) {
  const words = useWords();
  const { api, account } = useScope();
  const change = useAction(
    async (file: File | null) => {
      if (file === null) {
        await ask(() => api.POST('/merchant-profile/logo/remove', { body: {} }));
      } else {
        const png = await pngOf(file).catch(() => null);
        if (png === null) throw words.company.noPicture;
        await ask(() => api.POST('/merchant-profile/logo', { body: { png } }));
      }
    },
    { rereads: [[account.id, 'merchant']] },
  );
  return (
    <section className="card stack" aria-labelledby="logo">
      <h2 id="logo" style={{ margin: 0 }}>
        {words.company.logo}
      </h2>
      <p className="soft" style={{ margin: 0 }}>
        {words.company.logoHint}
      </p>
      <FormError error={change.error} />
      <div style={{ display: 'flex', gap: 10, flexWrap: 'wrap' }}>
        <FileButton
          accept="image/png,image/jpeg,image/webp"
          onChange={(file) => file && change.run(file)}
          inputProps={{ 'aria-label': words.company.logo }}
        >
          {(props) => (
            <Button {...props} variant="default" loading={change.busy}>
              {words.company.chooseLogo}
            </Button>
          )}
        </FileButton>
        {profile.logoVersion !== null && (
          <Button variant="subtle" color="red" disabled={change.busy} onClick={() => change.run(null)}>
            {words.company.removeLogo}
          </Button>
        )}
      </div>
    </section>
  );
}
