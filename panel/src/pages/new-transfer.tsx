import { Alert, Button, PinInput, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type FormEvent, type Ref, useRef, useState } from 'react';
import { ask, type Detail, Problem, type RecordView } from '../api/client.ts';
import { feeOf, grossFor } from '../fee.ts';
import { dateTime, money, pixKeyText, time } from '../format.ts';
import { cleanPixKey, guessPixKeyType, isPixKey, type PixKeyType, pixKeyTypes } from '../pix-key.ts';
import { useOverview, useScope } from '../session.tsx';
import type { Words } from '../text/pt.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Choice } from '../ui/choice.tsx';
import { useDetail } from '../ui/detail.ts';
import { Icon } from '../ui/icons.tsx';
import { OperationField, useArrivedOperation, useStartOperation } from '../ui/operation-field.tsx';
import { FormError, Money, MoneyInput, PageHead, Rows, Status, Trouble } from '../ui/parts.tsx';
import { ReceiverLines } from '../ui/receiver-lines.tsx';
import { ChooseReceiver, type Receiver, SaveReceiver, useSavedName } from '../ui/receivers.tsx';
import { Segments } from '../ui/segments.tsx';

/** A new transfer; `?repetir=` begins with what another one was made of. */
export function NewTransfer() {
  const { repetir } = useSearch({ strict: false }) as { repetir?: string };
  return repetir === undefined ? <TransferForm /> : <Repeated id={repetir} />;
}

function Repeated({ id }: { id: string }) {
  const { data, error, refetch } = useDetail(id);
  if (error && !data) return <Trouble error={error} retry={() => void refetch()} />;
  if (!data) return <Rows />;
  return <TransferForm like={data.record} />;
}

function TransferForm({ like }: { like?: RecordView }) {
  const words = useWords();
  const { account, session } = useScope();
  const form = useTransferForm(like);
  return (
    <>
      <PageHead title={words.transfers.new} back={{ to: '/transferencias', label: words.transfers.title }} />
      {session.frozenUntil ? (
        <Frozen until={session.frozenUntil} />
      ) : !account.test && !session.secondFactor ? (
        <FactorMissing />
      ) : (
        <TransferFields form={form} withReceivers={!like} />
      )}
    </>
  );
}

/** The Pix key as it is typed; its type is guessed from it until the person chooses one. */
function useTypedKey(like: RecordView | undefined) {
  const [type, setType] = useState<PixKeyType>((like?.pixKeyType as PixKeyType | null) ?? 'CPF');
  const [typeChosen, setTypeChosen] = useState(like !== undefined);
  const [text, setText] = useState(like?.pixKey ? pixKeyText(like.pixKeyType, like.pixKey) : '');
  const pixKey = cleanPixKey(type, text);
  function chooseType(value: PixKeyType) {
    setType(value);
    setTypeChosen(true);
  }
  return {
    type,
    text,
    pixKey,
    fits: isPixKey(type, pixKey),
    chooseType,
    typeText(value: string) {
      setText(value);
      const guess = typeChosen ? null : guessPixKeyType(value);
      if (guess) setType(guess);
    },
    choose({ pixKey: key, pixKeyType }: Receiver) {
      chooseType(pixKeyType);
      setText(pixKeyText(pixKeyType, key));
    },
  };
}

/** The amount as it is typed, and what it comes to with the fees, the limits and the balance of the operation. */
function useTypedAmount(operation: string, like: RecordView | undefined) {
  const { api, account } = useScope();
  const overview = useOverview(true);
  const [typed, setTyped] = useState(like?.expectedNetAmountCents ?? like?.amountCents ?? 0);
  // Banks send what is typed; the fee comes on top.
  const [exact, setExact] = useState(true);
  const limitsOf = (id: string) => ask(() => api.GET('/account', { headers: { 'x-service-operation': id } }));
  const { data: limits } = useQuery({
    queryKey: [account.id, 'account', operation],
    enabled: operation !== '',
    queryFn: () => limitsOf(operation),
  });
  const cents = typed === 0 || !exact ? typed : limits ? grossFor(typed, limits) : 0;
  const balance = overview.data?.operations.find((one) => one.id === operation);
  return {
    typed,
    setTyped,
    /** The typed amount is the receiver's; else the debited one. */
    exact,
    setExact,
    limits,
    /** The debited amount; 0 while it is not known. */
    cents,
    fee: limits ? feeOf(cents, limits) : 0,
    /** Null until the balance has arrived. */
    available: balance ? balance.availableCents - balance.receivableCents : null,
    /** The amount debited from the operation of the form, whose fees may not have arrived yet. */
    grossFrom: async (target: string) =>
      exact ? grossFor(typed, limits ?? (await limitsOf(target))) : typed,
  };
}

/** The error message of the amount, or null. A missing amount becomes an error when the form is submitted. */
function amountErrorOf(
  { typed, cents, limits, available }: ReturnType<typeof useTypedAmount>,
  sent: boolean,
  words: Words,
): string | null {
  if (typed === 0) return sent ? words.common.amountMissing : null;
  if (cents === 0 || !limits) return null;
  const { minimumWithdrawalCents: minimum, maximumWithdrawalCents: maximum } = limits;
  if (cents < minimum || cents > maximum) return words.transfers.outOfRange(money(minimum), money(maximum));
  return available !== null && cents > available ? words.transfers.tooMuch : null;
}

/** The content of the form, and its submission. */
function useTransferForm(like: RecordView | undefined) {
  const words = useWords();
  const { api, operationId } = useScope();
  const navigate = useNavigate();
  const start = useStartOperation(operationId);
  const [chosen, setChosen] = useState<string | null>(like?.operationId ?? null);
  const operation = chosen ?? start;
  const key = useTypedKey(like);
  const amount = useTypedAmount(operation, like);
  const [description, setDescription] = useState(like?.description ?? '');
  const [requestKey] = useState(() => crypto.randomUUID());
  const [sent, setSent] = useState(false);
  const [keyField, amountField] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const amountError = amountErrorOf(amount, sent, words);

  const arrived = useArrivedOperation();
  const create = useAction(async () => {
    // Input from before the account's operations and fees had arrived waits for them here.
    const target = await arrived(operation);
    const amountCents = await amount.grossFrom(target);
    const draft = await ask(() =>
      api.POST('/drafts', {
        body: { amountCents, pixKey: key.pixKey, pixKeyType: key.type, description, requestKey },
        headers: { 'x-service-operation': target },
      }),
    );
    await navigate({ to: `/transferencias/${draft.id}/codigo` });
  });

  /** Enter shows validation errors even while the button is disabled. */
  function submit(event: FormEvent) {
    event.preventDefault();
    setSent(true);
    if (!key.fits) keyField.current?.focus();
    else if (amount.typed === 0 || amountError !== null) amountField.current?.focus();
    else create.run();
  }

  return {
    /** A field lacks something, so it was not sent: others may lack too. */
    lacking: () => setSent(true),
    operation,
    chooseOperation: setChosen,
    key,
    keyField,
    amount,
    amountField,
    amountError,
    description,
    setDescription,
    sent,
    create,
    submit,
  };
}

function Frozen({ until }: { until: string }) {
  const words = useWords();
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="clock" />}>
      {words.transfers.frozenUntil(dateTime(until))}
    </Alert>
  );
}

function FactorMissing() {
  const words = useWords();
  const { session } = useScope();
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="shield" />}>
      <p>
        {session.passkeys > 0 || session.twoFactorEnabled
          ? words.security.passkeyAlone
          : words.transfers.needsFactor}
      </p>
      <Button component={Link} to="/seguranca">
        {words.transfers.setUp}
      </Button>
    </Alert>
  );
}

function TransferFields({
  form,
  withReceivers,
}: {
  form: ReturnType<typeof useTransferForm>;
  /** Offers the earlier receivers. */
  withReceivers: boolean;
}) {
  const words = useWords();
  const { key, amount, create } = form;
  return (
    <form className="card stack narrow" onSubmit={form.submit} onInvalid={form.lacking}>
      <OperationField
        label={words.transfers.chooseOperation}
        value={form.operation}
        onValue={form.chooseOperation}
        withBalance
      />
      {withReceivers && <ChooseReceiver choose={key.choose} />}
      <KeyFields typed={key} field={form.keyField} sent={form.sent} />
      <MoneyInput
        ref={form.amountField}
        label={words.common.amount}
        description={amount.available === null ? ' ' : words.transfers.balance(money(amount.available))}
        cents={amount.typed}
        onCents={amount.setTyped}
        error={form.amountError}
      />
      <div>
        <span className="fieldname">{words.transfers.amountMode}</span>
        <Segments
          label={words.transfers.amountMode}
          data={[
            { value: 'net', label: words.transfers.exact },
            { value: 'gross', label: words.transfers.debited },
          ]}
          value={amount.exact ? 'net' : 'gross'}
          onChoice={(mode) => amount.setExact(mode === 'net')}
        />
      </div>
      <TextInput
        label={`${words.common.description} (${words.common.optional})`}
        description={words.transfers.descriptionHint}
        maxLength={80}
        autoComplete="off"
        value={form.description}
        onChange={(event) => form.setDescription(event.currentTarget.value)}
      />
      <Sum cents={amount.cents} fee={amount.fee} />
      {key.fits && <SaveReceiver pixKey={key.pixKey} pixKeyType={key.type} />}
      <FormError error={create.error} />
      <Button type="submit" size="md" loading={create.busy}>
        {words.transfers.continue}
      </Button>
    </form>
  );
}

function KeyFields({
  typed: { type, text, fits, chooseType, typeText },
  field,
  sent,
}: {
  typed: ReturnType<typeof useTypedKey>;
  field: Ref<HTMLInputElement>;
  sent: boolean;
}) {
  const words = useWords();
  return (
    <div style={{ display: 'grid', gap: 12, gridTemplateColumns: 'minmax(112px, 140px) minmax(0, 1fr)' }}>
      <Choice
        label={words.transfers.keyType}
        data={pixKeyTypes.map((value) => ({ value, label: words.transfers.types[value] }))}
        value={type}
        onChoice={(value) => chooseType(value as PixKeyType)}
      />
      <TextInput
        ref={field}
        label={words.transfers.key}
        required
        withAsterisk={false}
        maxLength={150}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        inputMode={type === 'EMAIL' || type === 'RANDOM' ? 'text' : 'tel'}
        value={text}
        onChange={(event) => typeText(event.currentTarget.value)}
        error={(sent || text.length > 2) && !fits ? words.transfers.keyInvalid[type] : null}
        rightSection={
          fits ? (
            <span className="plus" role="img" aria-label={words.transfers.keyFits}>
              <Icon name="check" size={18} />
            </span>
          ) : null
        }
      />
    </div>
  );
}

/** The debited amount, the fee in it, and the amount that arrives. */
function Sum({ cents, fee }: { cents: number; fee: number }) {
  const words = useWords();
  return (
    <dl className="sum" aria-live="polite">
      <dt>{words.transfers.gross}</dt>
      <dd>
        <Money cents={cents} />
      </dd>
      <dt>{words.transfers.fee}</dt>
      <dd>
        <Money cents={cents === 0 ? 0 : fee} />
      </dd>
      <dt className="strong">{words.transfers.net}</dt>
      <dd className="strong">
        <Money cents={Math.max(0, cents === 0 ? 0 : cents - fee)} />
      </dd>
    </dl>
  );
}

const draftLifeMs = 30 * 60_000;
const draftEnd = (createdAt: string): string => new Date(Date.parse(createdAt) + draftLifeMs).toISOString();

/** The draft, and the code of the mail that makes it a transfer; then what became of it. */
export function TransferCode() {
  const words = useWords();
  const { session } = useScope();
  const { id } = useParams({ strict: false }) as { id: string };
  const { data, error: trouble, refetch } = useDetail(id);
  const savedName = useSavedName(data?.record.pixKey);
  const owner = useKeyOwner(data?.record);
  const steps = useDraftSteps(id, data?.record.operationId);
  if (trouble && !data) return <Trouble error={trouble} retry={() => void refetch()} />;
  if (!data) return <Rows />;
  const { record } = data;
  if (record.status !== 'draft')
    return (
      <Outcome
        id={id}
        status={record.status}
        reason={record.reasonCode}
        cents={record.expectedNetAmountCents ?? record.amountCents}
        about={words.transfers.sentTo(
          owner.receiver?.name ?? savedName ?? pixKeyText(record.pixKeyType, record.pixKey ?? ''),
          money(record.feeCents ?? 0),
          money(record.amountCents),
        )}
      />
    );
  return (
    <>
      <PageHead title={words.transfers.codeTitle} />
      <form className="card stack narrow" onSubmit={steps.confirm}>
        <DraftFacts draft={record} operationName={data.operationName} owner={owner} savedName={savedName} />
        {owner.isUnknown && (
          <Alert color="yellow" variant="light" icon={<Icon name="warning" />} role="status">
            {words.transfers.unknownKey}
          </Alert>
        )}
        <hr style={{ border: 0, borderTop: '1px solid var(--line)', width: '100%', margin: 0 }} />
        <p style={{ margin: 0 }}>{words.transfers.codeLead(session.email)}</p>
        <p className="soft" style={{ margin: 0 }}>
          {words.transfers.validFor(time(draftEnd(record.createdAt)).slice(0, 5))}
        </p>
        <PinInput
          length={6}
          type="number"
          size="lg"
          oneTimeCode
          autoFocus
          ariaLabel={words.transfers.code}
          value={steps.code}
          onChange={steps.setCode}
        />
        {/* Only when the form accepts Enter again: a person types the code as soon as this is shown. */}
        {steps.notice && !steps.busy && (
          <Alert color="mata" role="status">
            {steps.notice}
          </Alert>
        )}
        <FormError error={steps.error} />
        <Button type="submit" size="md" loading={steps.busy} disabled={steps.code.length !== 6}>
          {words.transfers.confirm}
        </Button>
        <OtherSteps busy={steps.busy} resend={steps.resend} cancel={steps.cancel} />
      </form>
    </>
  );
}

/** The acts on a draft, one at a time: confirmed with the code, sent another code, cancelled. */
function useDraftSteps(id: string, operationId: string | undefined) {
  const words = useWords();
  const { api, account } = useScope();
  const queries = useQueryClient();
  const [code, setCode] = useState('');
  const [notice, setNotice] = useState<string | null>(null);
  const { run, busy, error } = useAction(
    async (work: () => Promise<string | null>) => {
      setNotice(null);
      try {
        setNotice(await work());
      } catch (problem) {
        setCode('');
        throw problem;
      }
    },
    { rereads: [[account.id]], textOf: (problem) => stepProblem(problem, words) },
  );
  /** The answer has the draft's new state: it is shown at once, and the form cannot be sent again. */
  const end = async (call: () => Promise<Pick<RecordView, 'status' | 'reasonCode'>>): Promise<null> => {
    const { status, reasonCode } = await call();
    queries.setQueryData<Detail>(
      [account.id, 'detail', id],
      (shown) =>
        shown && { ...shown, record: { ...shown.record, status, ...(reasonCode && { reasonCode }) } },
    );
    return null;
  };
  const ofDraft = { params: { path: { id } }, headers: { 'x-service-operation': operationId ?? '' } };
  return {
    code,
    setCode,
    notice,
    busy,
    error,
    confirm(event: FormEvent) {
      event.preventDefault();
      run(() => end(() => ask(() => api.POST('/drafts/{id}/confirm', { ...ofDraft, body: { code } }))));
    },
    resend: () =>
      run(async () => {
        await ask(() => api.POST('/drafts/{id}/resend', { ...ofDraft, body: {} }));
        return words.transfers.resent;
      }),
    cancel: () => run(() => end(() => ask(() => api.POST('/drafts/{id}/cancel', { ...ofDraft, body: {} })))),
  };
}

/** The words for a refusal; the problem itself where its own words do. */
function stepProblem(problem: unknown, words: Words): unknown {
  if (!(problem instanceof Problem)) return problem;
  if (problem.code === 'invalid_code') {
    const left = problem.details.find((one) => one.triesLeft !== undefined)?.triesLeft ?? 0;
    return left > 0 ? words.transfers.wrongCode(left) : words.transfers.locked;
  }
  if (problem.code === 'code_expired') return words.transfers.codeExpired;
  if (problem.code === 'rate_limited') return words.transfers.noMoreCodes;
  return words.reasons[problem.code] ?? problem;
}

function DraftFacts({
  draft,
  operationName,
  owner,
  savedName,
}: {
  draft: RecordView;
  operationName: string;
  owner: ReturnType<typeof useKeyOwner>;
  savedName: string | undefined;
}) {
  const words = useWords();
  return (
    <dl className="facts">
      <dt>{words.transfers.recipient}</dt>
      <dd>
        {owner.receiver && <ReceiverLines receiver={owner.receiver} />}
        {owner.isAsked && <div className="soft">{words.transfers.askingOwner}</div>}
        <div style={{ fontWeight: owner.receiver ? undefined : 700 }}>
          {pixKeyText(draft.pixKeyType, draft.pixKey ?? '')}
        </div>
        {savedName && <div className="soft">{words.receivers.savedAs(savedName)}</div>}
      </dd>
      <dt>{words.transfers.gross}</dt>
      <dd>
        <Money cents={draft.amountCents} />
      </dd>
      <dt>{words.transfers.fee}</dt>
      <dd>
        <Money cents={draft.feeCents ?? 0} />
      </dd>
      <dt>{words.transfers.net}</dt>
      <dd>
        <strong>
          <Money cents={draft.expectedNetAmountCents ?? 0} />
        </strong>
      </dd>
      {draft.description && (
        <>
          <dt>{words.common.description}</dt>
          <dd>{draft.description}</dd>
        </>
      )}
      <dt>{words.common.operation}</dt>
      <dd>{operationName}</dd>
    </dl>
  );
}

function OtherSteps({ busy, resend, cancel }: { busy: boolean; resend: () => void; cancel: () => void }) {
  const words = useWords();
  const { account, session } = useScope();
  return (
    <div style={{ display: 'flex', gap: 10, flexWrap: 'wrap' }}>
      <Button variant="default" disabled={busy} onClick={resend}>
        {words.transfers.resend}
      </Button>
      <Button variant="subtle" color="red" disabled={busy} onClick={cancel}>
        {words.transfers.giveUp}
      </Button>
      {account.test && session.mailbox && (
        <Button variant="subtle" component="a" href="/mailbox" target="_blank">
          {words.common.openMailbox}
        </Button>
      )}
    </div>
  );
}

/** Who owns the Pix key of a draft, where the provider can tell. The page does not wait for it: without an answer the person confirms as before. */
function useKeyOwner(draft: RecordView | undefined) {
  const { api, account } = useScope();
  const asked = useQuery({
    queryKey: [account.id, 'key owner', draft?.id],
    enabled: draft?.status === 'draft' && draft.receiver === null,
    // Each question is counted by the provider.
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: () =>
      ask(() =>
        api.POST('/drafts/{id}/receiver', {
          params: { path: { id: draft?.id ?? '' } },
          body: {},
          headers: { 'x-service-operation': draft?.operationId ?? '' },
        }),
      ),
  });
  return {
    receiver: draft?.receiver ?? asked.data?.receiver ?? null,
    isAsked: asked.isFetching,
    isUnknown: asked.data?.answer === 'unknown',
  };
}

function Outcome({
  id,
  status,
  reason,
  cents,
  about,
}: {
  id: string;
  status: string;
  reason: string | undefined;
  /** As the receiver gets it. */
  cents: number;
  about: string;
}) {
  const words = useWords();
  const good = status === 'completed';
  const bad = status === 'cancelled' || status === 'failed';
  // Cancelled, expired or too many wrong codes: the provider refused nothing.
  const ended = reason?.startsWith('draft_');
  const title = good
    ? words.transfers.done
    : ended
      ? words.transfers.cancelled
      : bad
        ? words.transfers.refused
        : status === 'unknown'
          ? words.transfers.unknown
          : words.transfers.processing;
  return (
    <>
      <PageHead title={title} />
      <div className="card narrow center" role="status">
        <div className={`donemark ${bad ? 'bad' : good ? '' : 'wait'}`}>
          <Icon name={bad ? 'cross' : good ? 'check' : 'clock'} size={36} />
        </div>
        <p className="big" style={{ margin: '0 0 4px' }}>
          <Money cents={cents} />
        </p>
        <p style={{ margin: '0 0 6px', overflowWrap: 'anywhere' }}>{about}</p>
        <Status status={status} kind="transfer" />
        {reason && <p>{words.reasons[reason] ?? reason}</p>}
        {ended && <p className="soft">{words.transfers.cancelledLead}</p>}
        {status === 'unknown' && <p className="soft">{words.transfers.unknownLead}</p>}
        <div style={{ display: 'flex', gap: 10, justifyContent: 'center', marginTop: 20, flexWrap: 'wrap' }}>
          {good && (
            <Button
              component={Link}
              to={`/pagamentos/${id}/comprovante`}
              leftSection={<Icon name="print" size={18} />}
            >
              {words.detail.receipt}
            </Button>
          )}
          <Button component={Link} to={`/pagamentos/${id}`} variant="default">
            {words.charges.detail}
          </Button>
          <Button component={Link} to="/transferencias/nova" {...(good && { variant: 'default' })}>
            {words.transfers.newOne}
          </Button>
        </div>
      </div>
    </>
  );
}
