import { Button } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { dateTimeSeconds, money, pixKeyText } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { useDetail } from '../ui/detail.ts';
import { Icon } from '../ui/icons.tsx';
import { Letterhead, useMerchantProfile } from '../ui/merchant.tsx';
import { movedCents } from '../ui/names.tsx';
import { PageHead, Rows, Trouble } from '../ui/parts.tsx';
import { useRefunds } from '../ui/refunds.tsx';
import { NotFound } from './not-found.tsx';

type Row = [label: string, value: string | null | undefined];

/** A page to print; the same as a PDF comes from the server. */
export function Receipt() {
  const words = useWords();
  const { account } = useScope();
  const { id } = useParams({ strict: false }) as { id: string };
  const { data, error } = useDetail(id);
  const { data: profile } = useMerchantProfile();
  if (error && !data) return <Trouble error={error} />;
  if (!data) return <Rows />;
  const { record } = data;
  const when = record.paidAt ?? record.settledAt;
  if (record.status !== 'paid' && record.status !== 'completed') {
    return <p className="soft">{words.receipt.notYet}</p>;
  }
  const transfer = record.kind === 'transfer';
  const taken = data.disputes.reduce((sum, one) => sum + one.debitedCents, 0);
  return (
    <Sheet
      what={words.receipt.of[record.kind]}
      cents={transfer ? (record.netAmountCents ?? record.amountCents) : movedCents(record)}
      rows={[
        [words.receipt.when, when && dateTimeSeconds(when)],
        [words.receipt.from, record.payerName],
        [words.receipt.to, transfer ? record.receiver?.name : profile?.displayName],
        [words.receipt.taxId, record.receiver?.taxId],
        [words.receipt.bank, record.receiver?.bank],
        [words.detail.recipientKey, record.pixKey && pixKeyText(record.pixKeyType, record.pixKey)],
        [words.common.description, record.description],
        [words.receipt.account, `${account.name} · ${data.operationName}`],
        [words.common.fee, transfer ? money(record.providerFeeCents ?? record.feeCents ?? 0) : null],
        [words.receipt.refunded, record.refundedCents ? money(record.refundedCents) : null],
        [words.receipt.returned, record.returnedCents ? money(record.returnedCents) : null],
        [words.receipt.debited, taken > 0 ? money(taken) : null],
        [words.detail.endToEnd, record.endToEnd],
        [words.detail.id, record.id],
      ]}
      endToEnd={record.endToEnd}
      back={{
        to: `/pagamentos/${record.id}`,
        label: transfer ? words.detail.transfer : words.detail.charge,
      }}
      file={`records/${record.id}/receipt.pdf`}
    />
  );
}

export function RefundReceipt() {
  const words = useWords();
  const { account } = useScope();
  const { id, refund: refundId } = useParams({ strict: false }) as { id: string; refund: string };
  const { data, error } = useDetail(id);
  const refunds = useRefunds(id, true);
  if ((error && !data) || (refunds.error && !refunds.data)) return <Trouble error={error ?? refunds.error} />;
  if (!data || !refunds.data) return <Rows />;
  const refund = refunds.data.refunds.find((one) => one.id === refundId);
  if (!refund) return <NotFound />;
  if (refund.status !== 'completed') return <p className="soft">{words.receipt.notYet}</p>;
  return (
    <Sheet
      what={words.refund.receiptOf}
      cents={refund.amountCents}
      rows={[
        [words.receipt.when, refund.settledAt && dateTimeSeconds(refund.settledAt)],
        [words.refund.payee, data.record.payerName],
        [words.refund.message, refund.description],
        [words.receipt.account, `${account.name} · ${data.operationName}`],
        [words.refund.original, data.record.endToEnd],
        [words.detail.endToEnd, refund.endToEnd],
        [words.detail.id, refund.id],
      ]}
      endToEnd={refund.endToEnd}
      back={{ to: `/pagamentos/${id}`, label: words.detail.charge }}
      file={`records/${id}/refunds/${refund.id}/receipt.pdf`}
    />
  );
}

function Sheet({
  what,
  cents,
  rows,
  endToEnd,
  back,
  file,
}: {
  what: string;
  cents: number;
  rows: readonly Row[];
  endToEnd: string | undefined;
  back: { to: string; label: string };
  /** Below the account. */
  file: string;
}) {
  const { words, language } = useText();
  const { account } = useScope();
  const { data: profile } = useMerchantProfile();
  const ids: readonly string[] = [words.detail.endToEnd, words.detail.id, words.refund.original];
  return (
    <>
      <div className="noprint">
        <PageHead title={words.receipt.title} back={back}>
          <Button
            component="a"
            href={`/panel/api/accounts/${account.id}/${file}?language=${language}`}
            leftSection={<Icon name="download" size={18} />}
          >
            {words.receipt.pdf}
          </Button>
          <Button
            variant="default"
            leftSection={<Icon name="print" size={18} />}
            onClick={() => window.print()}
          >
            {words.receipt.print}
          </Button>
        </PageHead>
      </div>
      <article className="receipt">
        <Letterhead profile={profile} />
        <h2 style={{ fontSize: 15, fontWeight: 600, margin: 0 }} className="soft">
          {what}
        </h2>
        <p className="big num" style={{ margin: '2px 0 20px' }}>
          {money(cents)}
        </p>
        <dl className="facts">
          {rows
            .filter((row): row is [string, string] => Boolean(row[1]))
            .map(([label, value]) => (
              <div key={label} style={{ display: 'contents' }}>
                <dt>{label}</dt>
                <dd className={ids.includes(label) ? 'mono' : ''}>{value}</dd>
              </div>
            ))}
        </dl>
        {endToEnd && (
          <p className="soft" style={{ fontSize: 13, margin: '20px 0 0' }}>
            {words.receipt.authentic}
          </p>
        )}
        {account.test && (
          <p style={{ fontSize: 13, margin: '8px 0 0', color: 'var(--copper)', fontWeight: 600 }}>
            {words.common.testBanner}
          </p>
        )}
      </article>
    </>
  );
}
