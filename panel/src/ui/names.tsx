import { Link } from '@tanstack/react-router';
import { pixKeyText } from '../format.ts';
import { useWords } from '../text/text.tsx';

/** The name of a payment for people. */
export interface Names {
  kind: 'deposit' | 'transfer';
  payerName: string | null;
  pixKey: string | null;
  pixKeyType: string | null;
  /** As the provider reported it. */
  receiver: { name: string } | null;
  description: string;
}

/** Who paid, or who was paid: the name, where it is known, and the key. Null: the service knows neither. */
export const partyOf = ({ payerName, receiver, pixKey, pixKeyType }: Names): string | null =>
  // A Pix of a printed code has no name.
  payerName || [receiver?.name, pixKey && pixKeyText(pixKeyType, pixKey)].filter(Boolean).join(' · ') || null;

/** The amount that a payment brought or takes: of a charge with a due date the received amount, once there is one. */
export const movedCents = ({
  amountCents,
  amountPaidCents = amountCents,
}: {
  amountCents: number;
  amountPaidCents?: number;
}): number => amountPaidCents;

/** A payment by its names, with a link to it. Nothing for what has no payment. */
export function PaymentName({ id, names }: { id: string | null; names: Names | null }) {
  const words = useWords();
  if (id === null || names === null) return null;
  const kind = names.kind === 'transfer' ? words.detail.transfer : words.detail.charge;
  const party = partyOf(names);
  return (
    <>
      <Link to="/pagamentos/$id" params={{ id }} className="inline">
        {party === null ? kind : `${kind} · ${party}`}
      </Link>
      {names.description && <span className="soft"> · {names.description}</span>}
    </>
  );
}
