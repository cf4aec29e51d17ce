import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { ask, type Dispute } from '../api/client.ts';
import { dayMs } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { DefenceOf } from '../ui/defence.tsx';
import { Listed, MoreFoot } from '../ui/listed.tsx';
import { partyOf } from '../ui/names.tsx';
import { useOperationPages } from '../ui/operation-field.tsx';
import { Empty, Money, moodOf, PageHead, When } from '../ui/parts.tsx';
import { DisputeTestMode } from '../ui/test-mode.tsx';

/** The disputes (MED) of an operation, with what is held for each and how long its defence is taken. */
export function Disputes() {
  const words = useWords();
  const { api } = useScope();
  const { names, pages } = useOperationPages(
    'disputes',
    (operation, below: string | null) =>
      ask(() =>
        api.GET('/operation-disputes', { params: { query: { ...operation, ...(below && { below }) } } }),
      ),
    (last) => last.nextBelow,
  );
  const disputes = pages.data?.pages.flatMap((page) => page.disputes) ?? [];
  return (
    <>
      <PageHead title={words.disputes.title} lead={words.disputes.lead} />
      <section className="card" aria-label={words.disputes.title}>
        <Listed
          pages={pages}
          count={disputes.length}
          noMatch={null}
          empty={<Empty icon="warning" title={words.disputes.empty} lead={words.disputes.emptyHint} />}
        >
          <DisputeTable disputes={disputes} names={names} />
          <MoreFoot pages={pages} />
        </Listed>
      </section>
    </>
  );
}

/** Each dispute, and below it what test mode does to it. */
function DisputeTable({ disputes, names }: { disputes: Dispute[]; names: Map<string, string> | null }) {
  const words = useWords();
  return (
    <table className="table folding">
      <thead>
        <tr>
          <th scope="col">{words.disputes.payment}</th>
          {names && <th scope="col">{words.common.operation}</th>}
          <th scope="col">{words.disputes.state}</th>
          <th scope="col">{words.disputes.deadline}</th>
          <th scope="col" className="right">
            {words.disputes.amount}
          </th>
          <th scope="col" className="right">
            {words.disputes.held}
          </th>
          <th scope="col" className="right">
            {words.disputes.debited}
          </th>
          <th scope="col" className="right">
            {words.disputes.opened}
          </th>
        </tr>
      </thead>
      <tbody>
        {disputes.map((one) => (
          <Fragment key={one.id}>
            <DisputeRow dispute={one} operation={names?.get(one.operationId)} />
            <DisputeTestMode
              dispute={one}
              operationId={one.operationId}
              name={(one.payment && partyOf(one.payment)) || one.endToEnd}
            />
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

function DisputeRow({ dispute, operation }: { dispute: Dispute; operation: string | undefined }) {
  const words = useWords();
  const { payment } = dispute;
  return (
    <tr className="link">
      <td>
        <Link to="/pagamentos/$id" params={{ id: dispute.paymentId }} className="row">
          {(payment && partyOf(payment)) || <span className="mono">{dispute.endToEnd}</span>}
        </Link>
        {payment?.description && (
          <div className="soft" style={{ fontSize: 14 }}>
            {payment.description}
          </div>
        )}
      </td>
      {operation !== undefined && <td className="off">{operation}</td>}
      <td>
        <span className={`status ${moodOf(dispute.status)}`}>{words.disputes.states[dispute.status]}</span>
      </td>
      <td data-label={words.disputes.deadline}>
        <div>
          <Deadline at={dispute.deadlineAt} ended={dispute.endedAt !== null} />
          <DefenceOf dispute={dispute} />
        </div>
      </td>
      <td className="right" data-label={words.disputes.amount}>
        <Money cents={dispute.amountCents} />
      </td>
      <td className="right" data-label={words.disputes.held}>
        <Money cents={dispute.heldCents} />
      </td>
      <td className="right" data-label={words.disputes.debited}>
        <Money cents={dispute.debitedCents} />
      </td>
      <td className="right soft" data-label={words.disputes.opened}>
        <When at={dispute.openedAt} />
      </td>
    </tr>
  );
}

export function Deadline({ at, ended }: { at: string | null; ended: boolean }) {
  const words = useWords();
  if (at === null) return <span className="soft">{words.disputes.noDeadline}</span>;
  const leftMs = Date.parse(at) - Date.now();
  const note = ended
    ? null
    : leftMs <= 0
      ? words.disputes.over
      : words.disputes.left(Math.floor(leftMs / dayMs));
  return (
    <div>
      <When at={at} />
      {note && <div className="soft">{note}</div>}
    </div>
  );
}
