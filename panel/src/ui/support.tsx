import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ask } from '../api/client.ts';
import { dateTime } from '../format.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { Icon } from './icons.tsx';

/** To an operator: whose panel this is, and that it is read only. To a person of the account: that support sees it now. */
export function SupportBanner() {
  const words = useWords();
  const { session, account, may } = useScope();
  if (session.view !== null) return <Viewing endsAt={session.view.endsAt} />;
  if (account.seenUntil === null) return null;
  return (
    <section className="banner notice" aria-label={words.support.label}>
      <Icon name="people" size={18} />
      <p>
        {words.support.seen(dateTime(account.seenUntil))}{' '}
        {may('members') && <Link to="/seguranca">{words.support.more}</Link>}
      </p>
    </section>
  );
}

function Viewing({ endsAt }: { endsAt: string }) {
  const words = useWords();
  const { account } = useScope();
  const queries = useQueryClient();
  const end = useAction(async () => {
    // Of the console, which merchants never load.
    const { desk, operatorSession } = await import('../console/api.ts');
    await queries.fetchQuery(operatorSession);
    await ask(() => desk.POST('/view/end', { body: {} }));
    window.location.assign(`/operator/contas/${account.id}`);
  });
  return (
    <section className="banner notice" aria-label={words.support.label}>
      <Icon name="people" size={18} />
      <p>
        {words.support.viewing(account.name, dateTime(endsAt))}
        {end.error !== null && <> {words.support.notEnded}</>}
      </p>
      <Button size="compact-sm" variant="default" loading={end.busy} onClick={() => end.run()}>
        {words.support.endView}
      </Button>
    </section>
  );
}
