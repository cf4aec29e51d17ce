import { type FormEvent, useRef, useState } from 'react';
import { useScope } from '../session.tsx';
import { useAction } from './action.ts';
import { useArrivedOperation, useStartOperation } from './operation-field.tsx';

interface Making {
  requestKey: string;
  headers: { 'x-service-operation': string };
}

/** A form by which an operation gets something new. */
export function useNewForm({
  make,
  rereads,
  lacks,
}: {
  make: (making: Making) => Promise<void>;
  rereads: (readonly unknown[])[];
  /** The amount is not there or out of its range: its field is shown instead of sending the form. */
  lacks: boolean;
}) {
  const { operationId } = useScope();
  const start = useStartOperation(operationId);
  const [chosen, setChosen] = useState<string | null>(null);
  const operation = chosen ?? start;
  // One for this form, whatever happens on the way: a repeat finds what was made.
  const [requestKey, setRequestKey] = useState(() => crypto.randomUUID());
  const [sent, setSent] = useState(false);
  const amount = useRef<HTMLInputElement>(null);
  const arrived = useArrivedOperation();
  const create = useAction(
    async () => {
      const target = await arrived(operation);
      await make({ requestKey, headers: { 'x-service-operation': target } });
    },
    { rereads },
  );
  return {
    operation,
    chooseOperation: setChosen,
    /** The field of the amount. */
    amount,
    /** It was tried to send it. */
    sent,
    create,
    /** Enter shows validation errors even while the button is disabled. */
    submit(event: FormEvent) {
      event.preventDefault();
      setSent(true);
      if (lacks) amount.current?.focus();
      else create.run();
    },
    /** A field lacks something, so it was not sent: the amount may lack too. */
    lacking: () => setSent(true),
    /** For another one of its kind. */
    again() {
      setRequestKey(crypto.randomUUID());
      setSent(false);
    },
  };
}
