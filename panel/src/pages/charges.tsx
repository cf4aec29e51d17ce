import { Button } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { Empty, PageHead } from '../ui/parts.tsx';
import { type Filters, RecordList } from '../ui/records.tsx';

export function Charges() {
  const words = useWords();
  const { may } = useScope();
  const filters = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const create = may('charges') && (
    <>
      <Button component={Link} to="/cobrancas/vencimento" variant="default">
        {words.due.button}
      </Button>
      <Button component={Link} to="/cobrancas/nova" leftSection={<Icon name="plus" size={18} />}>
        {words.charges.new}
      </Button>
    </>
  );
  return (
    <>
      <PageHead title={words.charges.title}>{create}</PageHead>
      <RecordList
        kind="deposit"
        filters={filters}
        onFilters={(search) => void navigate({ to: '/cobrancas', search, replace: true })}
        statuses={['pending', 'paid', 'expired', 'failed', 'unknown']}
        searchHint={words.charges.searchHint}
        noMatch={words.charges.noMatch}
        empty={
          <Empty icon="charge" title={words.charges.empty} lead={words.charges.emptyLead}>
            {create}
          </Empty>
        }
      />
    </>
  );
}
