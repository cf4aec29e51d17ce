import { Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { ask } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { DefenceOf } from '../ui/defence.tsx';
import { Listed, MoreFoot } from '../ui/listed.tsx';
import { partyOf } from '../ui/names.tsx';
import { ShownOperation, useOperationPages } from '../ui/operation-field.tsx';
import { Empty, Money, moodOf, PageHead, When } from '../ui/parts.tsx';
import { DisputeTestMode } from '../ui/test-mode.tsx';

/** The disputes (MED) of an operation, with what is held for each and how long its defence is taken. */
export function Disputes() {
  const words = useWords();
  const { api } = useScope();
  const { operationId, pages } = useOperationPages(
    'disputes',
    (id, below: string | null) =>
      ask(() =>
        api.GET('/operation-disputes', { params: { query: { operationId: id, ...(below && { below }) } } }),
      ),
    (last) => last.nextBelow,
  );
  const disputes = pages.data?.pages.flatMap((page) => page.disputes) ?? [];
  return (
    <>
      <PageHead title={words.disputes.title} lead={words.disputes.lead}>
        <ShownOperation />
      </PageHead>
      <section className="card" aria-label={words.disputes.title}>
        <Listed
          pages={pages}
          count={disputes.length}
          noMatch={null}
          empty={<Empty icon="warning" title={words.disputes.empty} lead={words.disputes.emptyHint} />}
        >
          <table className="table folding">
            <thead>
              <tr>
                <th scope="col">{words.disputes.payment}</th>
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
                  <tr className="link">
                    <td>
                      <Link to="/pagamentos/$id" params={{ id: one.paymentId }} className="row">
                        {(one.payment && partyOf(one.payment)) || (
                          <span className="mono">{one.endToEnd}</span>
                        )}
                      </Link>
                      {one.payment?.description && (
                        <div className="soft" style={{ fontSize: 14 }}>
                          {one.payment.description}
                        </div>
                      )}
                    </td>
                    <td>
                      <span className={`status ${moodOf(one.status)}`}>
                        {words.disputes.states[one.status]}
                      </span>
                    </td>
                    <td data-label={words.disputes.deadline}>
                      <div>
                        <Deadline at={one.deadlineAt} ended={one.endedAt !== null} />
                        <DefenceOf dispute={one} />
                      </div>
                    </td>
                    <td className="right" data-label={words.disputes.amount}>
                      <Money cents={one.amountCents} />
                    </td>
                    <td className="right" data-label={words.disputes.held}>
                      <Money cents={one.heldCents} />
                    </td>
                    <td className="right" data-label={words.disputes.debited}>
                      <Money cents={one.debitedCents} />
                    </td>
                    <td className="right soft" data-label={words.disputes.opened}>
                      <When at={one.openedAt} />
                    </td>
                  </tr>
                  {operationId && (
                    <DisputeTestMode
                      dispute={one}
                      operationId={operationId}
                      name={(one.payment && partyOf(one.payment)) || one.endToEnd}
                    />
                  )}
                </Fragment>
              ))}
            </tbody>
          </table>
          <MoreFoot pages={pages} />
        </Listed>
      </section>
    </>
  );
}

const dayMs = 86_400_000;

function Deadline({ at, ended }: { at: string | null; ended: boolean }) {
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
