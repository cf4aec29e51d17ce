import { Button } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { dateTimeSeconds, money, pixKeyText } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { PageHead, Rows, Trouble } from '../ui/parts.tsx';
import { useDetail } from './payment.tsx';

/** A page to print; the same as a PDF comes from the server. */
export function Receipt() {
  const { words, language } = useText();
  const { account } = useScope();
  const { id } = useParams({ strict: false }) as { id: string };
  const { data, error } = useDetail(id);
  if (error && !data) return <Trouble error={error} />;
  if (!data) return <Rows />;
  const { record } = data;
  const when = record.paidAt ?? record.settledAt;
  if (record.status !== 'paid' && record.status !== 'completed') {
    return <p className="soft">{words.receipt.notYet}</p>;
  }
  const rows: [string, string | null | undefined][] = [
    [words.receipt.when, when && dateTimeSeconds(when, language)],
    [words.receipt.from, record.payerName],
    [words.receipt.to, record.pixKey && pixKeyText(record.pixKeyType, record.pixKey)],
    [words.common.description, record.description],
    [words.receipt.account, `${account.name} · ${data.operationName}`],
    [
      words.common.fee,
      record.kind === 'transfer' ? money(record.providerFeeCents ?? record.feeCents ?? 0) : null,
    ],
    [words.detail.endToEnd, record.endToEnd],
    [words.detail.id, record.id],
  ];
  const shown =
    record.kind === 'transfer' ? (record.netAmountCents ?? record.amountCents) : record.amountCents;
  return (
    <>
      <div className="noprint">
        <PageHead title={words.receipt.title}>
          <Button
            component="a"
            href={`/panel/api/accounts/${account.id}/records/${record.id}/receipt.pdf?language=${language}`}
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
        <div className="brand">
          <img src="/vintem.svg" alt="" width="30" height="30" />
          vintem
        </div>
        <h2 style={{ fontSize: 15, fontWeight: 600, margin: 0 }} className="soft">
          {words.receipt.of[record.kind]}
        </h2>
        <p className="big num" style={{ margin: '2px 0 20px' }}>
          {money(shown)}
        </p>
        <dl className="facts">
          {rows
            .filter((row): row is [string, string] => Boolean(row[1]))
            .map(([label, value]) => (
              <div key={label} style={{ display: 'contents' }}>
                <dt>{label}</dt>
                <dd className={label === words.detail.endToEnd || label === words.detail.id ? 'mono' : ''}>
                  {value}
                </dd>
              </div>
            ))}
        </dl>
        {record.endToEnd && (
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
