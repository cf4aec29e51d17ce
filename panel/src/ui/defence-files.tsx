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

/** Chooses, sends and takes away the files of a defence of the account. */
export function Files({
  dispute,
  files,
  offered,
}: {
  dispute: Dispute;
  files: readonly DisputeFile[];
  offered: Offered;
}) {
  const { api, account } = useScope();
  const where = { operationId: dispute.operationId };
  return (
    <FilesField
      files={files}
      offered={offered}
      give={(file, progress) => {
        const query = new URLSearchParams({ ...where, name: file.name });
        const path = `/panel/api/accounts/${account.id}/operation-disputes/${dispute.id}/files?${query}`;
        return upload(path, file, progress);
      }}
      remove={(fileId) => {
        const params = { path: { id: dispute.id, fileId }, query: where };
        return ask(() => api.DELETE('/operation-disputes/{id}/files/{fileId}', { params, body: {} }));
      }}
      queryKey={[account.id, 'disputes', 'defence', dispute.id]}
    />
  );
}

/** The field with the files of a defence: of the account in the panel, of an operator in the console. */
export function FilesField({
  files,
  offered,
  give,
  remove,
  queryKey,
}: {
  files: readonly DisputeFile[];
  offered: Offered;
  /** @param progress called with the share that has gone out, 0 to 1 */
  give: (file: File, progress: (share: number) => void) => Promise<unknown>;
  remove: (fileId: string) => Promise<unknown>;
  /** Read again after each change. */
  queryKey: readonly unknown[];
}) {
  const words = useWords();
  const { language } = useText();
  const queries = useQueryClient();
  const [sending, setSending] = useState<Sending | null>(null);
  const reread = () => queries.invalidateQueries({ queryKey });
  const giving = useAction(async (chosen: File[]) => {
    try {
      for (const file of chosen) {
        const fault = faultOf(file, offered);
        if (fault !== null) throw words.defence.fileFaults[fault](file.name);
        setSending({ name: file.name, share: 0 });
        await give(file, (share) => setSending({ name: file.name, share }));
      }
    } finally {
      setSending(null);
      await reread();
    }
  });
  const removing = useAction(async (fileId: string) => {
    await remove(fileId);
    await reread();
  });
  const busy = giving.busy || removing.busy;
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
            onClick={() => removing.run(id)}
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
      <FormError error={giving.error ?? removing.error} />
      <div>
        <FileButton
          multiple
          accept={offered.types.join(',')}
          disabled={busy || full}
          onChange={(chosen) => chosen.length > 0 && giving.run(chosen)}
          inputProps={{ 'aria-label': words.defence.files }}
        >
          {(props) => (
            <Button
              {...props}
              size="xs"
              variant="default"
              loading={giving.busy}
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
function faultOf(file: File, { mostBytes, types }: Offered): 'type' | 'size' | null {
  if (!types.some((type) => type === file.type)) return 'type';
  return file.size > mostBytes ? 'size' : null;
}
