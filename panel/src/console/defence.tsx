import { Alert, Button, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import type { paths } from '../api/console.d.ts';
import { upload } from '../api/upload.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { FileList, FilesField } from '../ui/defence-files.tsx';
import { DefenceState } from '../ui/defence-state.tsx';
import { Icon } from '../ui/icons.tsx';
import { FormError, Rows, Trouble } from '../ui/parts.tsx';
import { desk, deskHeaders, deskKey } from './api.ts';
import { At } from './parts.tsx';
import { ReasonField } from './reason-field.tsx';
import { useConsoleWords } from './words.ts';

type Path = '/operations/{id}/disputes/{disputeId}/defence';
type Answer = paths[Path]['get']['responses'][200]['content']['application/json'];
type Offer = NonNullable<Answer['offer']>;
type Shown = paths[`${Path}/acts`]['post']['responses'][200]['content']['application/json'];

/** A dispute of a merchant: its operation and its id. */
interface Place {
  id: string;
  disputeId: string;
}

const keyOf = ({ disputeId }: Place) => [deskKey, 'defence', disputeId];

/** An operator answers a dispute for its merchant. */
export function DefenceForMerchant(place: Place) {
  const words = useConsoleWords();
  const [open, setOpen] = useState(false);
  return (
    <details className="more" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words.defence.open}</summary>
      {open && <Defence {...place} />}
    </details>
  );
}

function Defence(place: Place) {
  const words = useConsoleWords();
  const { data, error, refetch } = useQuery({
    queryKey: keyOf(place),
    queryFn: () =>
      ask(() => desk.GET('/operations/{id}/disputes/{disputeId}/defence', { params: { path: place } })),
  });
  if (data === undefined) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Rows />;
  const { defence, offer, files } = data;
  return (
    <div className="stack" style={{ marginTop: 10 }}>
      {defence !== null && (
        <div className="soft">
          <DefenceState
            defence={{
              status: defence.status,
              ...(defence.reasonCode !== null && { reasonCode: defence.reasonCode }),
            }}
          />
          <At at={defence.sentAt ?? defence.createdAt} />
        </div>
      )}
      {offer === null && defence === null && <p className="soft">{words.defence.none}</p>}
      {offer !== null && <Writing place={place} offer={offer} files={files} />}
    </div>
  );
}

/** Shows first what the provider will read; what is confirmed is exactly that. */
function Writing({ place, offer, files }: { place: Place; offer: Offer; files: Answer['files'] }) {
  const words = useConsoleWords();
  const panel = useWords();
  const [text, setText] = useState('');
  const [reason, setReason] = useState('');
  const [shown, setShown] = useState<Shown | null>(null);
  const params = { path: place };
  const said = {
    ...(offer.textMost > 0 && { text: text.trim() }),
    ...(files.length > 0 && { fileIds: files.map(({ id }) => id) }),
  };
  const look = useAction(async () => {
    setShown(
      await ask(() =>
        desk.POST('/operations/{id}/disputes/{disputeId}/defence/acts', { params, body: said }),
      ),
    );
  });
  const send = useAction(
    async () => {
      if (shown === null) return;
      const body = { ...said, reason: reason.trim(), shown: shown.shown };
      await ask(() => desk.POST('/operations/{id}/disputes/{disputeId}/defence', { params, body }));
    },
    { rereads: [keyOf(place)] },
  );
  const length = text.trim().length;
  const missing = offer.textMost > 0 ? length === 0 : files.length === 0;
  return (
    <form className="stack" onSubmit={shown === null ? look.submit : send.submit}>
      <p style={{ margin: 0 }}>{words.defence.lead}</p>
      {offer.textMost > 0 && (
        <Textarea
          label={panel.defence.text}
          description={panel.defence.count(length, offer.textMost)}
          autosize
          minRows={4}
          maxRows={14}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value.replaceAll('\t', ' '));
            setShown(null);
          }}
          error={length > offer.textMost ? panel.defence.tooLong : null}
        />
      )}
      {offer.files !== null && (
        <Files place={place} files={files} offered={offer.files} onChange={() => setShown(null)} />
      )}
      <ReasonField label={words.decide.why} value={reason} onText={setReason} />
      {shown !== null && <Preview shown={shown} />}
      <FormError error={look.error ?? send.error} />
      <Button
        type="submit"
        loading={look.busy || send.busy}
        disabled={missing || length > offer.textMost || reason.trim().length < 5}
        style={{ alignSelf: 'start' }}
      >
        {shown === null ? words.defence.look : words.defence.send}
      </Button>
    </form>
  );
}

function Preview({ shown: { text, files } }: { shown: Shown }) {
  const words = useConsoleWords();
  const panel = useWords();
  return (
    <section className="stack" aria-label={words.defence.preview}>
      <h3 style={{ margin: 0, fontSize: 16 }}>{words.defence.preview}</h3>
      {text !== null && <p style={{ margin: 0, whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{text}</p>}
      <FileList files={files} />
      <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
        {panel.defence.final}
      </Alert>
    </section>
  );
}

function Files({
  place,
  files,
  offered,
  onChange,
}: {
  place: Place;
  files: Answer['files'];
  offered: NonNullable<Offer['files']>;
  onChange: () => void;
}) {
  return (
    <FilesField
      files={files}
      offered={offered}
      give={(file, progress) => {
        onChange();
        const query = new URLSearchParams({ name: file.name });
        const path = `/operator/api/operations/${place.id}/disputes/${place.disputeId}/files?${query}`;
        return upload(path, file, progress, deskHeaders());
      }}
      remove={(fileId) => {
        onChange();
        const params = { path: { ...place, fileId } };
        return ask(() =>
          desk.POST('/operations/{id}/disputes/{disputeId}/files/{fileId}/removal', { params, body: {} }),
        );
      }}
      queryKey={keyOf(place)}
    />
  );
}
