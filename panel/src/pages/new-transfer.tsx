import { Alert, Button, PinInput, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { ask, type Detail, Problem, type RecordView } from '../api/client.ts';
import { feeOf, grossFor } from '../fee.ts';
import { dateTime, money, pixKeyText, time } from '../format.ts';
import { cleanPixKey, guessPixKeyType, isPixKey, type PixKeyType, pixKeyTypes } from '../pix-key.ts';
import { useOverview, useScope } from '../session.tsx';
import { useText, useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Choice } from '../ui/choice.tsx';
import { Icon } from '../ui/icons.tsx';
import { OperationField, useArrivedOperation, useStartOperation } from '../ui/operation-field.tsx';
import { FormError, Money, MoneyInput, PageHead, Rows, Status, Trouble } from '../ui/parts.tsx';
import {
  ChooseReceiver,
  type Receiver,
  ReceiverLines,
  SaveReceiver,
  useSavedName,
} from '../ui/receivers.tsx';
import { Segments } from '../ui/segments.tsx';
import { useDetail } from './payment.tsx';

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
  const { words, language } = useText();
  const { api, account, session, operationId } = useScope();
  const navigate = useNavigate();
  const start = useStartOperation(operationId);
  const overview = useOverview(true);
  const [chosen, setChosen] = useState<string | null>(like?.operationId ?? null);
  const operation = chosen ?? start;
  const [type, setType] = useState<PixKeyType>((like?.pixKeyType as PixKeyType | null) ?? 'CPF');
  const [typeChosen, setTypeChosen] = useState(like !== undefined);
  const [keyText, setKeyText] = useState(like?.pixKey ? pixKeyText(like.pixKeyType, like.pixKey) : '');
  const [typed, setTyped] = useState(like?.amountCents ?? 0);
  const [exact, setExact] = useState(false);
  const [description, setDescription] = useState(like?.description ?? '');
  const [requestKey] = useState(() => crypto.randomUUID());
  const limitsOf = (id: string) => ask(() => api.GET('/account', { headers: { 'x-service-operation': id } }));
  const asked = useQuery({
    queryKey: [account.id, 'account', operation],
    enabled: operation !== '',
    queryFn: () => limitsOf(operation),
  });

  const limits = asked.data;
  const cents = typed === 0 || !exact ? typed : limits ? grossFor(typed, limits) : 0;
  const pixKey = cleanPixKey(type, keyText);
  const keyFits = isPixKey(type, pixKey);
  const balance = overview.data?.operations.find((one) => one.id === operation);
  const available = balance ? balance.availableCents - balance.receivableCents : 0;
  const fee = limits ? feeOf(cents, limits) : 0;
  const outside = limits && (cents < limits.minimumWithdrawalCents || cents > limits.maximumWithdrawalCents);
  const [sent, setSent] = useState(false);
  const [keyField, amountField] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const amountError =
    typed === 0
      ? sent
        ? words.common.amountMissing
        : null
      : cents === 0 || !limits
        ? null
        : outside
          ? words.transfers.outOfRange(
              money(limits.minimumWithdrawalCents),
              money(limits.maximumWithdrawalCents),
            )
          : balance && cents > available
            ? words.transfers.tooMuch
            : null;

  function typeKey(text: string) {
    setKeyText(text);
    // Until the person chooses a type, it is guessed from the key.
    const guess = typeChosen ? null : guessPixKeyType(text);
    if (guess) setType(guess);
  }

  function chooseReceiver({ pixKey: key, pixKeyType }: Receiver) {
    setType(pixKeyType);
    setTypeChosen(true);
    setKeyText(pixKeyText(pixKeyType, key));
  }

  const arrived = useArrivedOperation();
  const create = useAction(async () => {
    // What was typed before the account's operations and fees had arrived waits for them here.
    const target = await arrived(operation);
    const amountCents = exact ? grossFor(typed, limits ?? (await limitsOf(target))) : typed;
    const draft = await ask(() =>
      api.POST('/drafts', {
        body: { amountCents, pixKey, pixKeyType: type, description, requestKey },
        headers: { 'x-service-operation': target },
      }),
    );
    await navigate({ to: `/transferencias/${draft.id}/codigo` });
  });

  /** What is wrong is said on Enter too, where a button that cannot be pressed would say nothing. */
  function submit(event: FormEvent) {
    event.preventDefault();
    setSent(true);
    if (!keyFits) keyField.current?.focus();
    else if (typed === 0 || amountError !== null) amountField.current?.focus();
    else create.run();
  }

  if (session.frozenUntil) {
    return (
      <>
        <PageHead
          title={words.transfers.new}
          back={{ to: '/transferencias', label: words.transfers.title }}
        />
        <Alert color="yellow" variant="light" icon={<Icon name="clock" />}>
          {words.transfers.frozenUntil(dateTime(session.frozenUntil, language))}
        </Alert>
      </>
    );
  }
  if (!account.test && !session.secondFactor) {
    return (
      <>
        <PageHead
          title={words.transfers.new}
          back={{ to: '/transferencias', label: words.transfers.title }}
        />
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
      </>
    );
  }
  return (
    <>
      <PageHead title={words.transfers.new} back={{ to: '/transferencias', label: words.transfers.title }} />
      <form className="card stack narrow" onSubmit={submit}>
        <OperationField
          label={words.transfers.chooseOperation}
          value={operation}
          onValue={setChosen}
          withBalance
        />
        {!like && <ChooseReceiver choose={chooseReceiver} />}
        <div style={{ display: 'grid', gap: 12, gridTemplateColumns: 'minmax(112px, 140px) minmax(0, 1fr)' }}>
          <Choice
            label={words.transfers.keyType}
            data={pixKeyTypes.map((value) => ({ value, label: words.transfers.types[value] }))}
            value={type}
            onChoice={(value) => {
              setType(value as PixKeyType);
              setTypeChosen(true);
            }}
          />
          <TextInput
            ref={keyField}
            label={words.transfers.key}
            required
            withAsterisk={false}
            maxLength={150}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            inputMode={type === 'EMAIL' || type === 'RANDOM' ? 'text' : 'tel'}
            value={keyText}
            onChange={(event) => typeKey(event.currentTarget.value)}
            error={(sent || keyText.length > 2) && !keyFits ? words.transfers.keyInvalid[type] : null}
            rightSection={
              keyFits ? (
                <span className="plus" role="img" aria-label={words.transfers.keyFits}>
                  <Icon name="check" size={18} />
                </span>
              ) : null
            }
          />
        </div>
        <MoneyInput
          ref={amountField}
          label={words.common.amount}
          description={balance ? words.transfers.balance(money(available)) : ' '}
          cents={typed}
          onCents={setTyped}
          error={amountError}
        />
        <TextInput
          label={`${words.common.description} (${words.common.optional})`}
          description={words.transfers.descriptionHint}
          maxLength={80}
          autoComplete="off"
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <Segments
          label={words.transfers.amountMode}
          data={[
            { value: 'gross', label: words.transfers.debited },
            { value: 'net', label: words.transfers.exact },
          ]}
          value={exact ? 'net' : 'gross'}
          onChoice={(mode) => setExact(mode === 'net')}
        />
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
        {keyFits && <SaveReceiver pixKey={pixKey} pixKeyType={type} />}
        <FormError error={create.error} />
        <Button type="submit" size="md" loading={create.busy}>
          {words.transfers.continue}
        </Button>
      </form>
    </>
  );
}

const draftLifeMs = 30 * 60_000;
const draftEnd = (createdAt: string): string => new Date(Date.parse(createdAt) + draftLifeMs).toISOString();

/** The draft, and the code of the mail that makes it a transfer; then what became of it. */
export function TransferCode() {
  const { words, language } = useText();
  const { api, account, session } = useScope();
  const { id } = useParams({ strict: false }) as { id: string };
  const queries = useQueryClient();
  const { data, error: trouble, refetch } = useDetail(id);
  const [code, setCode] = useState('');
  const [notice, setNotice] = useState<string | null>(null);
  const savedName = useSavedName(data?.record.pixKey);
  const owner = useKeyOwner(data?.record);
  const doing = useAction(
    async (work: () => Promise<string | null>) => {
      setNotice(null);
      try {
        setNotice(await work());
      } catch (problem) {
        setCode('');
        throw problem;
      }
    },
    { rereads: [[account.id]], textOf },
  );
  /** What became of the draft stands in the answer: it is shown at once, and the form cannot be sent again. */
  const end = async (call: () => Promise<Pick<RecordView, 'status' | 'reasonCode'>>): Promise<null> => {
    const { status, reasonCode } = await call();
    queries.setQueryData<Detail>(
      [account.id, 'detail', id],
      (shown) =>
        shown && { ...shown, record: { ...shown.record, status, ...(reasonCode && { reasonCode }) } },
    );
    return null;
  };
  if (trouble && !data) return <Trouble error={trouble} retry={() => void refetch()} />;
  if (!data) return <Rows />;
  const { record } = data;
  const headers = { 'x-service-operation': record.operationId };
  const path = { id };

  function textOf(problem: unknown): unknown {
    if (!(problem instanceof Problem)) return problem;
    if (problem.code === 'invalid_code') {
      const left = problem.details.find((one) => one.triesLeft !== undefined)?.triesLeft ?? 0;
      return left > 0 ? words.transfers.wrongCode(left) : words.transfers.locked;
    }
    if (problem.code === 'code_expired') return words.transfers.codeExpired;
    if (problem.code === 'rate_limited') return words.transfers.noMoreCodes;
    return words.reasons[problem.code] ?? problem;
  }

  if (record.status !== 'draft')
    return <Outcome id={id} status={record.status} reason={record.reasonCode} cents={record.amountCents} />;
  return (
    <>
      <PageHead title={words.transfers.codeTitle} />
      <form
        className="card stack narrow"
        onSubmit={(event) => {
          event.preventDefault();
          doing.run(() =>
            end(() =>
              ask(() => api.POST('/drafts/{id}/confirm', { params: { path }, body: { code }, headers })),
            ),
          );
        }}
      >
        <dl className="facts">
          <dt>{words.transfers.recipient}</dt>
          <dd>
            {owner.receiver && <ReceiverLines receiver={owner.receiver} />}
            {owner.isAsked && <div className="soft">{words.transfers.askingOwner}</div>}
            <div style={{ fontWeight: owner.receiver ? undefined : 700 }}>
              {pixKeyText(record.pixKeyType, record.pixKey ?? '')}
            </div>
            {savedName && <div className="soft">{words.receivers.savedAs(savedName)}</div>}
          </dd>
          <dt>{words.transfers.gross}</dt>
          <dd>
            <Money cents={record.amountCents} />
          </dd>
          <dt>{words.transfers.fee}</dt>
          <dd>
            <Money cents={record.feeCents ?? 0} />
          </dd>
          <dt>{words.transfers.net}</dt>
          <dd>
            <strong>
              <Money cents={record.expectedNetAmountCents ?? 0} />
            </strong>
          </dd>
          {record.description && (
            <>
              <dt>{words.common.description}</dt>
              <dd>{record.description}</dd>
            </>
          )}
          <dt>{words.common.operation}</dt>
          <dd>{data.operationName}</dd>
        </dl>
        {owner.isUnknown && (
          <Alert color="yellow" variant="light" icon={<Icon name="warning" />} role="status">
            {words.transfers.unknownKey}
          </Alert>
        )}
        <hr style={{ border: 0, borderTop: '1px solid var(--line)', width: '100%', margin: 0 }} />
        <p style={{ margin: 0 }}>{words.transfers.codeLead(session.email)}</p>
        <p className="soft" style={{ margin: 0 }}>
          {words.transfers.validFor(time(draftEnd(record.createdAt), language).slice(0, 5))}
        </p>
        <PinInput
          length={6}
          type="number"
          size="lg"
          oneTimeCode
          autoFocus
          ariaLabel={words.transfers.code}
          value={code}
          onChange={setCode}
        />
        {/* Only when the form accepts Enter again: a person types the code as soon as this is shown. */}
        {notice && !doing.busy && (
          <Alert color="mata" role="status">
            {notice}
          </Alert>
        )}
        <FormError error={doing.error} />
        <Button type="submit" size="md" loading={doing.busy} disabled={code.length !== 6}>
          {words.transfers.confirm}
        </Button>
        <div style={{ display: 'flex', gap: 10, flexWrap: 'wrap' }}>
          <Button
            variant="default"
            disabled={doing.busy}
            onClick={() =>
              doing.run(async () => {
                await ask(() => api.POST('/drafts/{id}/resend', { params: { path }, body: {}, headers }));
                return words.transfers.resent;
              })
            }
          >
            {words.transfers.resend}
          </Button>
          <Button
            variant="subtle"
            color="red"
            disabled={doing.busy}
            onClick={() =>
              doing.run(() =>
                end(() =>
                  ask(() => api.POST('/drafts/{id}/cancel', { params: { path }, body: {}, headers })),
                ),
              )
            }
          >
            {words.transfers.giveUp}
          </Button>
          {account.test && session.mailbox && (
            <Button variant="subtle" component="a" href="/mailbox" target="_blank">
              {words.common.openMailbox}
            </Button>
          )}
        </div>
      </form>
    </>
  );
}

/** Whose key a draft pays, where the provider can tell it. It stops nobody: without an answer the page is as it was. */
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
}: {
  id: string;
  status: string;
  reason: string | undefined;
  cents: number;
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
