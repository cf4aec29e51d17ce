import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ask } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Icon } from './icons.tsx';
import { Copy, Money, Rows, Status, Trouble, When } from './parts.tsx';

/** A charge as its payer needs it: amount, QR code, code to copy; the tick once it is paid. */
export function ChargeCode({ id, forPayer = false }: { id: string; forPayer?: boolean }) {
  const words = useWords();
  const { api, account, session } = useScope();
  const { data, error, refetch } = useQuery({
    queryKey: [account.id, 'charge', id],
    queryFn: async () => {
      const detail = await ask(() => api.GET('/records/{id}', { params: { path: { id } } }));
      // The code and its picture come with the payment itself, in the operation that owns it.
      const headers = { 'x-service-operation': detail.record.operationId };
      return ask(() => api.GET('/payments/{id}', { params: { path: { id } }, headers }));
    },
    // News come by themselves; while the provider has not answered at all there is nothing to hear of.
    refetchInterval: (query) => (query.state.data?.status === 'unknown' ? 1_500 : false),
  });
  if (error && !data) return <Trouble error={error} retry={() => void refetch()} />;
  if (!data) return <Rows count={4} />;
  if (data.status === 'paid') {
    return (
      <div className="center" role="status">
        <div className="donemark">
          <Icon name="check" size={38} />
        </div>
        <h2 style={{ margin: 0 }}>{words.charges.paidTitle}</h2>
        <p className="big num" style={{ margin: '6px 0' }}>
          {money(data.amountCents)}
        </p>
        {data.paidAt && (
          <p className="soft" style={{ margin: 0 }}>
            {words.charges.paidAt} <When at={data.paidAt} />
          </p>
        )}
      </div>
    );
  }
  if (data.status !== 'pending' && data.status !== 'unknown') {
    return (
      <div className="center" role="status">
        <Status status={data.status} kind="deposit" />
        <p className="big" style={{ margin: '6px 0' }}>
          <Money cents={data.amountCents} />
        </p>
        {data.reasonCode && <p className="soft">{words.reasons[data.reasonCode] ?? data.reasonCode}</p>}
      </div>
    );
  }
  return (
    <div className="stack">
      <div className="center" role="status">
        <Status status={data.status} kind="deposit" />
        <p className="big" style={{ margin: '4px 0 0' }}>
          <Money cents={data.amountCents} />
        </p>
        {data.expiresAt && (
          <p className="soft" style={{ margin: 0, fontSize: 14 }}>
            {words.charges.expires} <When at={data.expiresAt} />
          </p>
        )}
      </div>
      {data.status === 'unknown' || !data.copyPaste ? (
        <p className="center soft" style={{ margin: 0 }}>
          {words.charges.unknown}
        </p>
      ) : (
        <>
          {data.qrCodeBase64 && <img className="qr" src={data.qrCodeBase64} alt={words.charges.qrAlt} />}
          <Copy value={data.copyPaste} label={words.charges.copyCode} />
          <div>
            <div className="soft" style={{ fontSize: 13, marginBottom: 4 }}>
              {words.charges.code}
            </div>
            <div className="code" data-testid="copy-paste">
              {data.copyPaste}
            </div>
          </div>
          <p className="center soft" style={{ margin: 0, fontSize: 14 }}>
            {words.charges.live}
          </p>
        </>
      )}
      {!forPayer && data.copyPaste && (
        <Button component={Link} to={`/pagamentos/${id}/pagador`} variant="default">
          {words.charges.payerView}
        </Button>
      )}
      {account.test && session.simulatorUrl && !forPayer && (
        <Button
          component="a"
          href={session.simulatorUrl}
          target="_blank"
          rel="noreferrer"
          variant="light"
          color="cobre"
        >
          {words.charges.payAtSimulator}
        </Button>
      )}
    </div>
  );
}
