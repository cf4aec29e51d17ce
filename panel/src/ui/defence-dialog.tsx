import { Alert, Button, Textarea } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, type Defence, type Dispute } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { FileList, Files } from './defence-files.tsx';
import { DefenceState } from './defence-state.tsx';
import { Dialog } from './dialog.tsx';
import { Icon } from './icons.tsx';
import { FormError, Trouble, When } from './parts.tsx';

/** A defence as it was sent, or what is still to be said. */
export function DefenceDialog({
  dispute,
  answers,
  close,
}: {
  dispute: Dispute;
  answers: boolean;
  close: () => void;
}) {
  const words = useWords();
  const { api, account } = useScope();
  const at = {
    path: { id: dispute.id },
    query: { operationId: dispute.operationId },
  };
  const found = useQuery({
    queryKey: [account.id, 'disputes', 'defence', dispute.id],
    queryFn: () => ask(() => api.GET('/operation-disputes/{id}/defence', { params: at })),
  });
  return (
    <Dialog opened title={answers ? words.defence.title : words.defence.shownTitle} close={close}>
      {found.isError && <Trouble error={found.error} retry={() => found.refetch()} />}
      {found.data?.defence && <Shown defence={found.data.defence} />}
      {found.data?.offer && answers && (
        <Answer dispute={dispute} given={found.data} offer={found.data.offer} close={close} />
      )}
    </Dialog>
  );
}

function Shown({ defence }: { defence: NonNullable<Defence['defence']> }) {
  return (
    <div className="stack">
      <div>
        <DefenceState defence={defence} />
        <When at={defence.sentAt ?? defence.createdAt} />
      </div>
      {defence.text && (
        <p style={{ margin: 0, whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{defence.text}</p>
      )}
      <FileList files={defence.files} />
    </div>
  );
}

function Answer({
  dispute,
  given: { files },
  offer,
  close,
}: {
  dispute: Dispute;
  given: Defence;
  offer: NonNullable<Defence['offer']>;
  close: () => void;
}) {
  const words = useWords();
  const { api, account } = useScope();
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const most = offer.textMost;
  const length = text.trim().length;
  const missing = most > 0 ? length === 0 : files.length === 0;
  const fileIds = offer.files ? files.map(({ id }) => id) : [];
  const send = useAction(async () => {
    try {
      await ask(() =>
        api.POST('/operation-disputes/{id}/defence', {
          params: { path: { id: dispute.id }, query: { operationId: dispute.operationId } },
          body: { ...(most > 0 && { text: text.trim() }), ...(fileIds.length > 0 && { fileIds }) },
        }),
      );
      close();
    } finally {
      await queries.invalidateQueries({ queryKey: [account.id] });
    }
  });
  return (
    <form className="stack" onSubmit={send.submit}>
      <p style={{ margin: 0 }}>
        {dispute.deadlineAt === null
          ? words.defence.leadWithoutDeadline
          : words.defence.lead(dateTime(dispute.deadlineAt))}
        {most === 0 && ` ${words.defence.filesAlone}`}
      </p>
      {most > 0 && (
        <>
          <Textarea
            data-autofocus
            label={words.defence.text}
            description={words.defence.textHint}
            autosize
            minRows={6}
            maxRows={14}
            value={text}
            onChange={(event) => setText(event.currentTarget.value.replaceAll('\t', ' '))}
            error={length > most ? words.defence.tooLong : null}
          />
          <div className="soft" role="status">
            {words.defence.count(length, most)}
          </div>
        </>
      )}
      {offer.files && <Files dispute={dispute} files={files} offered={offer.files} />}
      <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
        {words.defence.final}
      </Alert>
      <FormError error={send.error} />
      <Button type="submit" loading={send.busy} disabled={missing || length > most}>
        {words.defence.send}
      </Button>
    </form>
  );
}
