import { Button } from '@mantine/core';
import type { Payment } from '../api/client.ts';
import { dayOf, plainDay } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { Fact } from './parts.tsx';

type ByCard = Pick<Payment, 'paymentMethod' | 'status' | 'card' | 'cardSettlementStatus' | 'releaseAt'>;

const dayIn = (at: string): string => plainDay(dayOf(new Date(at)));

/** A payment by card in a list: its card, and until when the acquirer keeps its money. */
export function CardMark({ record }: { record: ByCard }) {
  const words = useWords();
  const { paymentMethod, card, cardSettlementStatus: settlement, releaseAt } = record;
  if (paymentMethod !== 'card') return null;
  return (
    <>
      <span className="status rest">
        {card?.last4 ? words.card.ends(words.card.brands[card.brand], card.last4) : words.card.name}
      </span>
      {settlement === 'held' && (
        <span className="status ask">
          {releaseAt === undefined ? words.card.held : words.card.releasedOn(dayIn(releaseAt))}
        </span>
      )}
    </>
  );
}

/** The card of a payment as its acquirer named it. */
export function CardFacts({ payment }: { payment: ByCard }) {
  const words = useWords();
  const { paymentMethod, status, card, cardSettlementStatus: settlement, releaseAt } = payment;
  if (paymentMethod !== 'card') return null;
  const isOpen = status === 'pending' || status === 'unknown';
  return (
    <>
      {card && (
        <Fact name={words.card.name}>
          {card.last4 === null
            ? words.card.brands[card.brand]
            : words.card.ends(words.card.brands[card.brand], card.last4)}
        </Fact>
      )}
      {isOpen && card?.status === 'processing' && (
        <Fact name={words.card.state}>{words.card.processing}</Fact>
      )}
      {card?.refusedReason && <Fact name={words.card.refused}>{card.refusedReason}</Fact>}
      {isOpen && typeof card?.attemptsLeft === 'number' && (
        <Fact name={words.card.attemptsLeft}>
          <span className="num">{card.attemptsLeft}</span>
        </Fact>
      )}
      {settlement && (
        <Fact name={words.card.settlement}>
          {settlement === 'available'
            ? words.card.available
            : releaseAt === undefined
              ? words.card.held
              : words.card.heldUntil(dayIn(releaseAt))}
        </Fact>
      )}
    </>
  );
}

/** The acquirer's page, on which the payer gives the card: no data of a card pass here. */
export function CardPage({ charge: { checkoutUrl } }: { charge: Pick<Payment, 'checkoutUrl'> }) {
  const words = useWords();
  if (checkoutUrl === undefined)
    return (
      <p className="center soft" style={{ margin: 0 }}>
        {words.card.waits}
      </p>
    );
  return (
    <>
      <p className="center soft" style={{ margin: 0 }}>
        {words.card.pageLead}
      </p>
      <Button component="a" href={checkoutUrl} target="_blank" rel="noreferrer">
        {words.card.openPage}
      </Button>
    </>
  );
}
