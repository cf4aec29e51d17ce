import { Button } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { Empty, PageHead } from '../ui/parts.tsx';
import { type Filters, RecordList } from '../ui/records.tsx';

export function Transfers() {
  const words = useWords();
  const { may } = useScope();
  const filters = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const create = may('transfers') && (
    <Button component={Link} to="/transferencias/nova" leftSection={<Icon name="plus" size={18} />}>
      {words.transfers.new}
    </Button>
  );
  return (
    <>
      <PageHead title={words.transfers.title}>{create}</PageHead>
      <RecordList
        kind="transfer"
        filters={filters}
        onFilters={(search) => void navigate({ to: '/transferencias', search, replace: true })}
        statuses={['draft', 'pending', 'completed', 'cancelled', 'unknown']}
        searchHint={words.transfers.searchHint}
        noMatch={words.transfers.noMatch}
        empty={
          <Empty icon="transfer" title={words.transfers.empty} lead={words.transfers.emptyLead}>
            {create}
          </Empty>
        }
      />
    </>
  );
}
