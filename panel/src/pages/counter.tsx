import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ask, type Payment } from '../api/client.ts';
import { money } from '../format.ts';
import { useScope } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { ChargeCode, useCharge } from '../ui/charge-code.tsx';
import { Choice } from '../ui/choice.tsx';
import { isCounterLocked, lockCounter, unlockCounter } from '../ui/counter-lock.ts';
import { keepSound, keptSound, openSound, soundChoices, soundPaid } from '../ui/counter-sound.ts';
import { Icon } from '../ui/icons.tsx';
import { FormError } from '../ui/parts.tsx';
import { PasswordDialog } from '../ui/password-dialog.tsx';

/**
 * A till for a counter: a keypad, the code of one charge, and a sound when it is paid. It asks for nothing that shows a balance, so that none is on its
 * screen or on its way there.
 */
export function Counter() {
  const words = useWords();
  const [charge, setCharge] = useState<Payment | null>(null);
  const [sound, setSound] = useState(keptSound);
  useEffect(() => {
    document.title = `${words.counter.title} · vintem`;
  }, [words]);
  useScreenAwake();
  return (
    <main className="counter">
      <header className="counterbar">
        <h1>{words.counter.title}</h1>
        <Choice
          aria-label={words.counter.sound}
          data={soundChoices.map((value) => ({ value, label: words.counter.sounds[value] }))}
          value={sound}
          onChoice={(value) => {
            const choice = soundChoices.find((one) => one === value) ?? 'none';
            keepSound(choice);
            setSound(choice);
          }}
        />
        <Lock />
      </header>
      {charge === null ? (
        <Keypad onCharge={setCharge} />
      ) : (
        <CounterCharge key={charge.id} charge={charge} sound={sound} next={() => setCharge(null)} />
      )}
    </main>
  );
}

/** Keeps a tablet at the counter from going dark; a browser that cannot, or does not want to, shows the page all the same. */
function useScreenAwake(): void {
  useEffect(() => {
    const lock = navigator.wakeLock?.request('screen').catch(() => null);
    return () => void lock?.then((one) => one?.release());
  }, []);
}

const mostCents = 100_000_000;

function Keypad({ onCharge }: { onCharge: (charge: Payment) => void }) {
  const words = useWords();
  const { api, account, operationId } = useScope();
  const [cents, setCents] = useState(0);
  // One for this amount: a repeat after a lost answer finds the charge that was made.
  const [requestKey, setRequestKey] = useState(() => crypto.randomUUID());
  const create = useAction(
    async () => {
      openSound();
      const body = { amountCents: cents, payerName: words.counter.payer, description: '', requestKey };
      // Without a name it is the main operation.
      const headers = operationId === null ? {} : { 'x-service-operation': operationId };
      onCharge(await ask(() => api.POST('/pix/charges', { body, headers })));
    },
    { rereads: [[account.id, 'records']] },
  );
  const change = (to: number) => {
    if (create.busy || to > mostCents) return;
    create.forget();
    setCents(to);
    setRequestKey(crypto.randomUUID());
  };
  const type = (digits: string) => change(Number(`${cents}${digits}`));
  const erase = () => change(Math.floor(cents / 10));
  // The digits of a keyboard as well: many counters have one.
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLElement && event.target.closest('button, select, input')) return;
      if (/^\d$/.test(event.key)) type(event.key);
      else if (event.key === 'Backspace') erase();
      else if (event.key === 'Enter' && cents > 0) create.run();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
  return (
    <section className="counterbox" aria-label={words.counter.keys}>
      <output className="counteramount num" aria-label={words.counter.amount}>
        {money(cents)}
      </output>
      <div className="keypad">
        {['1', '2', '3', '4', '5', '6', '7', '8', '9', '00', '0'].map((digits) => (
          <button key={digits} type="button" onClick={() => type(digits)}>
            {digits}
          </button>
        ))}
        <button type="button" className="word" onClick={erase}>
          {words.counter.erase}
        </button>
      </div>
      <FormError error={create.error} />
      <Button size="xl" disabled={cents === 0} loading={create.busy} onClick={() => create.run()}>
        {words.counter.charge}
      </Button>
    </section>
  );
}

/** The code of one charge until it is paid, given up, or has ended. */
function CounterCharge({
  charge: { id, operationId },
  sound,
  next,
}: {
  charge: Payment;
  sound: (typeof soundChoices)[number];
  next: () => void;
}) {
  const { words, language } = useText();
  const { api, account } = useScope();
  const { data } = useCharge(id, operationId);
  const isPaid = data?.status === 'paid';
  const cents = data?.amountCents ?? 0;
  const { spoken } = words.counter;
  // Once for each charge, by what was chosen when it is paid.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another choice of sound is not another payment
  useEffect(() => {
    if (isPaid) soundPaid(sound, { cents, language, spoken });
  }, [isPaid]);
  const giveUp = useAction(
    async () => {
      await ask(() => api.POST('/payments/{id}/cancel', { params: { path: { id } }, body: {} }));
      next();
    },
    { rereads: [[account.id]] },
  );
  const isOpen = data?.status === 'pending' || data?.status === 'unknown';
  return (
    <section className="counterbox card">
      <ChargeCode id={id} operationId={operationId} forPayer />
      {isOpen ? (
        <>
          <FormError error={giveUp.error} />
          <Button variant="default" loading={giveUp.busy} onClick={() => giveUp.run()}>
            {words.counter.giveUp}
          </Button>
          {giveUp.error !== null && (
            <Button variant="subtle" onClick={next}>
              {words.counter.back}
            </Button>
          )}
        </>
      ) : (
        data && (
          <Button size="lg" data-autofocus onClick={next}>
            {words.counter.next}
          </Button>
        )
      )}
    </section>
  );
}

/** Locks this browser to the counter; leaving a locked one asks for the password of the person whose session it is. */
function Lock() {
  const words = useWords();
  const navigate = useNavigate();
  const [locked, setLocked] = useState(isCounterLocked);
  const [asking, setAsking] = useState(false);
  const leave = () => {
    unlockCounter();
    void navigate({ to: '/' });
  };
  return (
    <>
      {locked ? (
        <span className="status rest">{words.counter.locked}</span>
      ) : (
        <Button
          variant="default"
          title={words.counter.lockLead}
          leftSection={<Icon name="lock" size={18} />}
          onClick={() => {
            lockCounter();
            setLocked(true);
          }}
        >
          {words.counter.lock}
        </Button>
      )}
      <Button variant="subtle" onClick={() => (locked ? setAsking(true) : leave())}>
        {words.counter.leave}
      </Button>
      {asking && (
        <PasswordDialog
          close={(given) => {
            setAsking(false);
            if (given) leave();
          }}
        />
      )}
    </>
  );
}
