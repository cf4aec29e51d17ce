import { Button, Textarea, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { momentOf } from '../format.ts';
import { useAction } from '../ui/action.ts';
import { FormError, PageHead } from '../ui/parts.tsx';
import { desk, deskKey, type Notice, useOperator } from './api.ts';
import { useMachineWords } from './machine-words.ts';
import { At, Fact, Shown } from './parts.tsx';

const noticeKey = [deskKey, 'notice'];

/** The text that every merchant's panel shows for a time. */
export function NoticePage() {
  const { notice: words } = useMachineWords();
  const { data: operator } = useOperator();
  const query = useQuery({ queryKey: noticeKey, queryFn: () => ask(() => desk.GET('/notice')) });
  const mayChange = operator?.acts.includes('changeNotice') ?? false;
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      <Shown query={query}>
        {({ notice }) => (
          <div className="stack">
            {notice === null ? (
              <p className="soft">{words.none}</p>
            ) : (
              <Current notice={notice} mayEnd={mayChange} />
            )}
            {mayChange && <Form replaces={notice !== null} />}
          </div>
        )}
      </Shown>
    </>
  );
}

function Current({ notice, mayEnd }: { notice: Notice; mayEnd: boolean }) {
  const { notice: words } = useMachineWords();
  const queries = useQueryClient();
  const end = useAction(async () =>
    queries.setQueryData(noticeKey, await ask(() => desk.POST('/notice/end', { body: {} }))),
  );
  const begun = Date.parse(notice.from) <= Date.now();
  return (
    <section className="card" aria-labelledby="current">
      <h2 id="current">
        {words.current}{' '}
        <span className={`status ${begun ? 'good' : 'wait'}`}>{begun ? words.shown : words.waits}</span>
      </h2>
      <dl className="facts">
        <Fact name={words.pt}>
          <span lang="pt-BR">{notice.pt}</span>
        </Fact>
        <Fact name={words.en}>
          <span lang="en">{notice.en}</span>
        </Fact>
        <Fact name={words.from}>
          <At at={notice.from} />
        </Fact>
        <Fact name={words.until}>
          <At at={notice.until} />
        </Fact>
        <Fact name={words.setBy}>
          {notice.setBy}, <At at={notice.setAt} />
        </Fact>
      </dl>
      {mayEnd && (
        <>
          <FormError error={end.error} />
          <Button variant="default" mt="md" loading={end.busy} onClick={() => end.run()}>
            {words.end}
          </Button>
        </>
      )}
    </section>
  );
}

const empty = { pt: '', en: '', from: '', until: '' };

/** A field without a time is refused by the browser before; of a time that no calendar has the service speaks. */
const timeOf = (local: string): string => new Date(momentOf(local) ?? 0).toISOString();

function Form({ replaces }: { replaces: boolean }) {
  const { notice: words } = useMachineWords();
  const queries = useQueryClient();
  const [fields, setFields] = useState(empty);
  const set = (some: Partial<typeof empty>) => setFields((before) => ({ ...before, ...some }));
  const save = useAction(async () => {
    const { pt, en, from, until } = fields;
    const body = {
      ...{ pt: pt.trim(), en: en.trim(), until: timeOf(until) },
      ...(from !== '' && { from: timeOf(from) }),
    };
    queries.setQueryData(noticeKey, await ask(() => desk.POST('/notice', { body })));
    setFields(empty);
  });
  return (
    <section className="card" aria-labelledby="new">
      <h2 id="new">{words.set}</h2>
      <form className="stack narrow" onSubmit={save.submit}>
        <p className="soft" style={{ margin: 0 }}>
          {replaces ? words.replaces : words.setLead}
        </p>
        {(['pt', 'en'] as const).map((language) => (
          <Textarea
            key={language}
            label={words[language]}
            lang={language === 'pt' ? 'pt-BR' : 'en'}
            required
            withAsterisk={false}
            minLength={5}
            maxLength={280}
            autosize
            minRows={2}
            value={fields[language]}
            // One line: the panel breaks it where its width ends.
            onChange={(event) => set({ [language]: event.currentTarget.value.replaceAll(/\s/g, ' ') })}
          />
        ))}
        <TextInput
          type="datetime-local"
          label={words.fromField}
          value={fields.from}
          onChange={(event) => set({ from: event.currentTarget.value })}
        />
        <TextInput
          type="datetime-local"
          label={words.until}
          required
          withAsterisk={false}
          value={fields.until}
          onChange={(event) => set({ until: event.currentTarget.value })}
        />
        <FormError error={save.error} />
        <Button type="submit" loading={save.busy} style={{ alignSelf: 'start' }}>
          {words.submit}
        </Button>
      </form>
    </section>
  );
}
