import { Button, FileButton, Progress } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ask, type Defence, type Dispute, type DisputeFile } from '../api/client.ts';
import { upload } from '../api/upload.ts';
import { fileSize } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { FormError } from './parts.tsx';

type Offered = NonNullable<NonNullable<Defence['offer']>['files']>;

/** The files of a defence. */
export function FileList({
  files,
  children,
}: {
  files: readonly DisputeFile[];
  /** The acts on one file. */
  children?: (file: DisputeFile) => ReactNode;
}) {
  const { language } = useText();
  const words = useWords();
  if (files.length === 0) return null;
  return (
    <ul className="evidence" aria-label={words.defence.files}>
      {files.map((file) => (
        <li key={file.id}>
          <span className="name">{file.name === '' ? words.defence.withoutName : file.name}</span>
          <span className="soft">{fileSize(file.sizeBytes, language)}</span>
          {children?.(file)}
        </li>
      ))}
    </ul>
  );
}

interface Sending {
  name: string;
  /** 0 to 1. */
  share: number;
}

/** Chooses, sends and takes away the files of a defence. */
export function Files({
  dispute,
  files,
  offered,
}: {
  dispute: Dispute;
  files: readonly DisputeFile[];
  offered: Offered;
}) {
  const words = useWords();
  const { language } = useText();
  const { api, account } = useScope();
  const queries = useQueryClient();
  const [sending, setSending] = useState<Sending | null>(null);
  const reread = () =>
    queries.invalidateQueries({ queryKey: [account.id, 'disputes', 'defence', dispute.id] });
  const where = { operationId: dispute.operationId };

  const give = useAction(async (chosen: File[]) => {
    try {
      for (const file of chosen) {
        const fault = faultOf(file, offered);
        if (fault !== null) throw words.defence.fileFaults[fault](file.name);
        setSending({ name: file.name, share: 0 });
        const query = new URLSearchParams({ ...where, name: file.name });
        const path = `/panel/api/accounts/${account.id}/operation-disputes/${dispute.id}/files?${query}`;
        await upload(path, file, (share) => setSending({ name: file.name, share }));
      }
    } finally {
      setSending(null);
      await reread();
    }
  });
  const remove = useAction(async (fileId: string) => {
    const params = { path: { id: dispute.id, fileId }, query: where };
    await ask(() => api.DELETE('/operation-disputes/{id}/files/{fileId}', { params, body: {} }));
    await reread();
  });
  const busy = give.busy || remove.busy;
  const full = files.length >= offered.most;
  return (
    <div className="stack" style={{ gap: 8 }}>
      <div id="defence-files" className="soft">
        {words.defence.filesHint(offered.most, fileSize(offered.mostBytes, language))}
      </div>
      <FileList files={files}>
        {({ id, name }) => (
          <Button
            size="compact-xs"
            variant="subtle"
            color="red"
            disabled={busy}
            aria-label={words.defence.removeFile(name)}
            onClick={() => remove.run(id)}
          >
            {words.defence.remove}
          </Button>
        )}
      </FileList>
      {sending && (
        <div>
          <div className="soft">{words.defence.sending(sending.name)}</div>
          <Progress value={sending.share * 100} aria-label={words.defence.sending(sending.name)} />
        </div>
      )}
      <FormError error={give.error ?? remove.error} />
      <div>
        <FileButton
          multiple
          accept={offered.types.join(',')}
          disabled={busy || full}
          onChange={(chosen) => chosen.length > 0 && give.run(chosen)}
          inputProps={{ 'aria-label': words.defence.files }}
        >
          {(props) => (
            <Button
              {...props}
              size="xs"
              variant="default"
              loading={give.busy}
              disabled={full}
              aria-describedby="defence-files"
            >
              {words.defence.addFile}
            </Button>
          )}
        </FileButton>
      </div>
    </div>
  );
}

/** Finds the faults of a file before all of it is sent. */
export function faultOf(file: File, { mostBytes, types }: Offered): 'type' | 'size' | null {
  if (!types.some((type) => type === file.type)) return 'type';
  return file.size > mostBytes ? 'size' : null;
}
