import type { RecordView } from '../api/client.ts';

/** The receiver of a transfer, as its provider reported it: the name, and below it document and bank. */
export function ReceiverLines({ receiver }: { receiver: NonNullable<RecordView['receiver']> }) {
  const more = [receiver.taxId, receiver.bank].filter(Boolean).join(' · ');
  return (
    <>
      <strong>{receiver.name}</strong>
      {more && <div className="soft">{more}</div>}
    </>
  );
}
