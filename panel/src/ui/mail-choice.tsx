import { Alert, Button, Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, type MailChoice as Choices } from '../api/client.ts';
import { canNotify, chooseNotified, isNotified, mailChoiceQuery } from '../received-notice.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { Choice } from './choice.tsx';
import { FormError, Rows, Trouble } from './parts.tsx';

/** The mails and notifications about an account that each of its people chooses for themselves. */
export function MailChoice() {
  const words = useWords();
  const scope = useScope();
  const { data, error, refetch } = useQuery(mailChoiceQuery(scope));
  return (
    <section className="card" aria-labelledby="mail-choice">
      <div className="cardhead">
        <h2 id="mail-choice">{words.mailChoice.title}</h2>
        <span className="soft">{words.mailChoice.lead(scope.account.name)}</span>
      </div>
      {data ? (
        <ChoiceForm key={scope.account.id} before={data} />
      ) : error ? (
        <Trouble error={error} retry={() => void refetch()} />
      ) : (
        <Rows count={4} />
      )}
    </section>
  );
}

const paces = ['off', 'hour', 'day'] as const;
const zones = ['America/Noronha', 'America/Sao_Paulo', 'America/Manaus', 'America/Rio_Branco'] as const;
const hours = Array.from({ length: 24 }, (_none, hour) => ({
  value: String(hour),
  label: `${String(hour).padStart(2, '0')}:00`,
}));

function ChoiceForm({ before }: { before: Choices }) {
  const words = useWords();
  const { api, account } = useScope();
  const [wanted, setWanted] = useState(before);
  const save = useAction(() => ask(() => api.POST('/mail-choice', { body: wanted })), {
    rereads: [[account.id, 'mail-choice']],
  });
  const change = (part: Partial<Choices>): void => {
    save.forget();
    setWanted({ ...wanted, ...part });
  };
  return (
    <form className="stack" onSubmit={save.submit}>
      <Checkbox
        label={words.mailChoice.month}
        description={words.mailChoice.monthHint}
        checked={wanted.month}
        onChange={(event) => change({ month: event.currentTarget.checked })}
      />
      <div className="filters" style={{ margin: 0 }}>
        <Choice
          label={words.mailChoice.received}
          data={paces.map((value) => ({ value, label: words.mailChoice.paces[value] }))}
          value={wanted.received}
          onChoice={(value) => change({ received: paces.find((one) => one === value) ?? 'off' })}
          className="wide"
        />
        <Choice
          label={words.mailChoice.quietFrom}
          data={hours}
          value={String(wanted.quietFrom)}
          onChoice={(value) => change({ quietFrom: Number(value) })}
        />
        <Choice
          label={words.mailChoice.quietTo}
          data={hours}
          value={String(wanted.quietTo)}
          onChoice={(value) => change({ quietTo: Number(value) })}
        />
        <Choice
          label={words.mailChoice.zone}
          data={zones.map((value) => ({ value, label: words.mailChoice.zones[value] }))}
          value={wanted.zone}
          onChoice={(value) => change({ zone: zones.find((one) => one === value) ?? 'America/Sao_Paulo' })}
          className="wide"
        />
      </div>
      <p className="soft" style={{ margin: 0 }}>
        {wanted.quietFrom === wanted.quietTo ? words.mailChoice.noQuiet : words.mailChoice.quietHint}
      </p>
      <InThisBrowser />
      <FormError error={save.error} />
      {save.done && (
        <Alert color="mata" role="status">
          {words.mailChoice.saved}
        </Alert>
      )}
      <Button type="submit" variant="default" loading={save.busy} style={{ alignSelf: 'flex-start' }}>
        {words.mailChoice.save}
      </Button>
    </form>
  );
}

/** Kept by the browser, and so at once: another browser of the same person shows nothing. */
function InThisBrowser() {
  const words = useWords();
  const { account } = useScope();
  const [on, setOn] = useState(() => isNotified(account.id));
  const [refused, setRefused] = useState(false);
  const able = canNotify();
  const choose = useAction(async (wanted: boolean) => {
    const now = await chooseNotified(account.id, wanted);
    setOn(now);
    setRefused(wanted && !now);
  });
  return (
    <Checkbox
      label={words.mailChoice.browser}
      description={able ? words.mailChoice.browserHint : words.mailChoice.browserUnable}
      error={refused && words.mailChoice.browserRefused}
      disabled={!able || choose.busy}
      checked={on}
      onChange={(event) => choose.run(event.currentTarget.checked)}
    />
  );
}
