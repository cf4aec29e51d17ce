import { Button } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { ChargeCode } from '../ui/charge-code.tsx';
import { Icon } from '../ui/icons.tsx';

/** A charge on a screen that the merchant turns to the payer. It shows nothing else of the account. */
export function PayerView() {
  const words = useWords();
  const { account } = useScope();
  const { id } = useParams({ strict: false }) as { id: string };
  useEffect(() => {
    document.title = `${words.charges.payerTitle(account.name)} · vintem`;
  }, [account.name, words]);
  return (
    <main className="payer">
      <h1>{words.charges.payerTitle(account.name)}</h1>
      <div className="card">
        <ChargeCode id={id} forPayer />
      </div>
      <Button
        component={Link}
        to={`/pagamentos/${id}`}
        variant="subtle"
        leftSection={<Icon name="cross" size={18} />}
      >
        {words.charges.leavePayerView}
      </Button>
    </main>
  );
}
