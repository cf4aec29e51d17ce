import { Button, Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { FormError, PageHead } from '../ui/parts.tsx';
import { Segments } from '../ui/segments.tsx';
import { desk, deskKey, type OperatorChange, type OperatorPerson, useOperator } from './api.ts';
import { AskedNote } from './decision.tsx';
import { At, CsvLink, Shown } from './parts.tsx';
import { ReasonField } from './reason-field.tsx';
import { useConsoleWords } from './words.ts';

/** The people of the console. Each change of them is asked for here, and takes a second administrator. */
export function OperatorsPage() {
  const words = useConsoleWords();
  const { data: operator } = useOperator();
  const query = useQuery({
    queryKey: [deskKey, 'operators'],
    queryFn: () => ask(() => desk.GET('/operators')),
  });
  return (
    <>
      <PageHead title={words.operators.title} lead={words.operators.lead}>
        <CsvLink list="operators" />
      </PageHead>
      <Shown query={query}>
        {({ operators }) => (
          <div className="stack">
            <PeopleTable operators={operators} />
            {operator?.acts.includes('changeOperators') && <Change operators={operators} />}
          </div>
        )}
      </Shown>
    </>
  );
}

function PeopleTable({ operators }: { operators: OperatorPerson[] }) {
  const words = useConsoleWords();
  return (
    <div className="card scroll">
      <table className="table folding">
        <thead>
          <tr>
            <th scope="col">{words.operators.name}</th>
            <th scope="col">{words.operators.role}</th>
            <th scope="col">{words.operators.state}</th>
            <th scope="col">{words.operators.since}</th>
          </tr>
        </thead>
        <tbody>
          {operators.map((one) => (
            <tr key={one.id}>
              <td className="wide">
                {one.name}
                <div className="soft breaks">{one.email}</div>
              </td>
              <td data-label={words.operators.role}>{words.roles[one.role]}</td>
              <td data-label={words.operators.state}>
                <State operator={one} />
              </td>
              <td data-label={words.operators.since}>
                <At at={one.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function State({ operator: { suspendedAt, enrolledAt } }: { operator: OperatorPerson }) {
  const { operators: words } = useConsoleWords();
  if (suspendedAt !== null) return <span className="status bad">{words.suspended}</span>;
  if (enrolledAt === null) return <span className="status wait">{words.invited}</span>;
  return <span className="status good">{words.active}</span>;
}

const kinds = ['create', 'grant', 'suspend', 'reset_factor'] as const;

/** Asks for a change. What is shown to the second person is what this one asked for, about the person as they are now. */
function Change({ operators }: { operators: OperatorPerson[] }) {
  const words = useConsoleWords();
  const { change: own } = words.operators;
  const [kind, setKind] = useState<OperatorChange['change']>('create');
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [role, setRole] = useState<OperatorPerson['role']>('support');
  const [reason, setReason] = useState('');
  const request = useAction(
    () => {
      const body: OperatorChange = {
        change: kind,
        email: email.trim(),
        reason: reason.trim(),
        ...(kind === 'create' && { name: name.trim() }),
        ...((kind === 'create' || kind === 'grant') && { role }),
      };
      return ask(() => desk.POST('/operators/changes', { body }));
    },
    {
      rereads: [
        [deskKey, 'requests'],
        [deskKey, 'worklist'],
      ],
    },
  );
  const people = operators.filter(({ suspendedAt }) => kind === 'grant' || suspendedAt === null);
  return (
    <section className="card" aria-labelledby="change">
      <h2 id="change">{own.title}</h2>
      <form className="stack narrow" onSubmit={request.submit}>
        <p className="soft">{own.lead}</p>
        <Segments
          label={own.what}
          value={kind}
          data={kinds.map((value) => ({ value, label: own.kinds[value] }))}
          onChoice={(value) => {
            setKind(value);
            setEmail('');
            request.forget();
          }}
          vertical
        />
        <p className="soft">{own.leads[kind]}</p>
        {kind === 'create' ? (
          <>
            <TextInput
              label={words.signIn.email}
              type="email"
              required
              withAsterisk={false}
              maxLength={200}
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            <TextInput
              label={words.operators.name}
              required
              withAsterisk={false}
              minLength={2}
              maxLength={80}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          </>
        ) : (
          <Select
            label={own.who}
            data={people.map((one) => ({ value: one.email, label: `${one.name}, ${one.email}` }))}
            value={email === '' ? null : email}
            onChange={(value) => setEmail(value ?? '')}
            searchable
            required
            withAsterisk={false}
          />
        )}
        {(kind === 'create' || kind === 'grant') && (
          <Select
            label={words.operators.role}
            data={Object.entries(words.roles).map(([value, label]) => ({ value, label }))}
            value={role}
            onChange={(value) => value !== null && setRole(value as OperatorPerson['role'])}
            allowDeselect={false}
          />
        )}
        <ReasonField label={words.decide.why} value={reason} onText={setReason} />
        <FormError error={request.error} />
        {request.done && <AskedNote text={words.decide.asked} />}
        <Button type="submit" loading={request.busy} disabled={email === ''} style={{ alignSelf: 'start' }}>
          {words.decide.request}
        </Button>
      </form>
    </section>
  );
}
