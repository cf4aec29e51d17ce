import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ask, type Payment } from '../api/client.ts';
import { money, plainDay } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { CardPage } from './card.tsx';
import { Icon } from './icons.tsx';
import { movedCents } from './names.tsx';
import { Copy, Money, Rows, Status, Trouble, When } from './parts.tsx';
import { Share } from './share.tsx';

/** A charge as its payer needs it: amount, QR code, code to copy; the tick once it is paid. */
export function ChargeCode({
  id,
  operationId,
  forPayer = false,
}: {
  id: string;
  /** Where it is known. */
  operationId?: string;
  forPayer?: boolean;
}) {
  const words = useWords();
  const { data, error, refetch } = useCharge(id, operationId);
  if (error && !data) return <Trouble error={error} retry={() => void refetch()} />;
  if (!data) return <Rows count={4} />;
  if (data.status === 'paid') return <Paid charge={data} />;
  if (data.status !== 'pending' && data.status !== 'unknown') return <EndedUnpaid charge={data} />;
  return (
    <div className="stack">
      <AmountDue charge={data} forPayer={forPayer} />
      {data.paymentMethod === 'card' ? (
        <CardPage charge={data} />
      ) : data.status === 'unknown' || !data.copyPaste ? (
        <p className="center soft" style={{ margin: 0 }}>
          {words.charges.unknown}
        </p>
      ) : (
        <Code copyPaste={data.copyPaste} picture={data.qrCodeBase64} />
      )}
      {!forPayer && data.payerUrl && (
        <Share url={data.payerUrl} copy={words.charges.copyPage} subject={words.share.subject} />
      )}
      {!forPayer && data.copyPaste && (
        <Button component={Link} to={`/pagamentos/${id}/pagador`} variant="default">
          {words.charges.payerView}
        </Button>
      )}
      {!forPayer && data.paymentMethod !== 'card' && <SimulatorLink />}
    </div>
  );
}

export function useCharge(id: string, operationId?: string) {
  const { api, account } = useScope();
  return useQuery({
    queryKey: [account.id, 'charge', id],
    queryFn: async () => {
      // The code and its picture come with the payment itself, in the operation that owns it.
      const owner =
        operationId ??
        (await ask(() => api.GET('/records/{id}', { params: { path: { id } } }))).record.operationId;
      const headers = { 'x-service-operation': owner };
      return ask(() => api.GET('/payments/{id}', { params: { path: { id } }, headers }));
    },
    // News come by themselves; while the provider has not answered at all there is nothing to hear of.
    refetchInterval: (query) => (query.state.data?.status === 'unknown' ? 1_500 : false),
  });
}

function Paid({ charge }: { charge: Payment }) {
  const words = useWords();
  return (
    <div className="center" role="status">
      <div className="donemark">
        <Icon name="check" size={38} />
      </div>
      <h2 style={{ margin: 0 }}>{words.charges.paidTitle}</h2>
      <p className="big num" style={{ margin: '6px 0' }}>
        {money(movedCents(charge))}
      </p>
      {charge.paidAt && (
        <p className="soft" style={{ margin: 0 }}>
          {words.charges.paidAt} <When at={charge.paidAt} />
        </p>
      )}
    </div>
  );
}

function EndedUnpaid({ charge }: { charge: Payment }) {
  const words = useWords();
  return (
    <div className="center" role="status">
      <Status status={charge.status} kind="deposit" />
      <p className="big" style={{ margin: '6px 0' }}>
        <Money cents={charge.amountCents} />
      </p>
      {charge.reasonCode && <p className="soft">{words.reasons[charge.reasonCode] ?? charge.reasonCode}</p>}
    </div>
  );
}

/** How much, and until when. */
function AmountDue({ charge, forPayer }: { charge: Payment; forPayer: boolean }) {
  const words = useWords();
  return (
    <div className="center" role="status">
      {forPayer && charge.status === 'pending' ? (
        <span className="status wait">{words.charges.waiting}</span>
      ) : (
        <Status status={charge.status} kind="deposit" />
      )}
      <p className="big" style={{ margin: '4px 0 0' }}>
        <Money cents={charge.amountCents} />
      </p>
      {charge.expiresAt && charge.dueDate === undefined && (
        <p className="soft" style={{ margin: 0, fontSize: 14 }}>
          {words.charges.expires} <When at={charge.expiresAt} />
        </p>
      )}
      {charge.dueDate !== undefined && (
        <p className="soft" style={{ margin: 0, fontSize: 14 }}>
          {words.due.bankShows(plainDay(charge.dueDate))}
        </p>
      )}
    </div>
  );
}

/** The code as a picture, to copy and to read. */
function Code({ copyPaste, picture }: { copyPaste: string; picture: string | undefined }) {
  const words = useWords();
  return (
    <>
      {picture && <img className="qr" src={picture} alt={words.charges.qrAlt} />}
      <Copy value={copyPaste} label={words.charges.copyCode} />
      <div>
        <div className="soft" style={{ fontSize: 13, marginBottom: 4 }}>
          {words.charges.code}
        </div>
        <div className="code" data-testid="copy-paste">
          {copyPaste}
        </div>
      </div>
      <p className="center soft" style={{ margin: 0, fontSize: 14 }}>
        {words.charges.live}
      </p>
    </>
  );
}

/** In a test account the simulator pays. */
function SimulatorLink() {
  const words = useWords();
  const { account, session } = useScope();
  if (!account.test || !session.simulatorUrl) return null;
  return (
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
  );
}
