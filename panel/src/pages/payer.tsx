import { Button } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { ChargeCode } from '../ui/charge-code.tsx';
import { Icon } from '../ui/icons.tsx';
import { Letterhead, useMerchantProfile } from '../ui/merchant.tsx';

/** A charge on a screen that the merchant turns to the payer. It shows nothing else of the account. */
export function PayerView() {
  const words = useWords();
  const { account } = useScope();
  const { id } = useParams({ strict: false }) as { id: string };
  const { data: profile } = useMerchantProfile();
  const name = profile?.displayName ?? account.name;
  useEffect(() => {
    document.title = `${words.charges.payerTitle(name)} · vintem`;
  }, [name, words]);
  return (
    <main className="payer">
      <h1>{words.charges.payerTitle(name)}</h1>
      <div className="card">
        <Letterhead profile={profile} forPayer />
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
