import { Button } from '@mantine/core';
import { useScope } from '../session.tsx';
import { useText } from '../text/text.tsx';
import { Icon } from './icons.tsx';

/** Below a list: the next page of it, and the whole of it as a file for spreadsheets. */
export function ListFoot({
  file,
  filters = {},
  pages,
}: {
  /** Below the account, as `records.csv`. */
  file: string;
  filters?: Record<string, unknown>;
  pages?: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => Promise<unknown> };
}) {
  const { words, language } = useText();
  const { account } = useScope();
  const query = new URLSearchParams({ separator: language === 'en' ? 'comma' : 'semicolon', bom: 'yes' });
  for (const [name, value] of Object.entries(filters)) query.set(name, String(value));
  return (
    <div className="listfoot">
      {pages?.hasNextPage && (
        <Button
          variant="default"
          loading={pages.isFetchingNextPage}
          onClick={() => void pages.fetchNextPage()}
        >
          {words.common.more}
        </Button>
      )}
      <Button
        component="a"
        href={`/panel/api/accounts/${account.id}/${file}?${query}`}
        download
        variant="subtle"
        leftSection={<Icon name="down" size={18} />}
        style={{ marginLeft: 'auto' }}
      >
        {words.common.exportCsv}
      </Button>
    </div>
  );
}
