import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ask } from '../api/client.ts';
import { fileSize } from '../format.ts';
import type { Language } from '../text/pt.ts';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { PageHead } from '../ui/parts.tsx';
import { desk, deskKey, type Processes } from './api.ts';
import { useMachineWords } from './machine-words.ts';
import { At, ConnectionLink, Fact, Shown } from './parts.tsx';

/** Processes that run, cells with their accounts, and what waits. */
export function ProcessesPage() {
  const { processes: words } = useMachineWords();
  const query = useQuery({
    queryKey: [deskKey, 'processes'],
    queryFn: () => ask(() => desk.GET('/processes')),
    refetchInterval: 10_000,
  });
  return (
    <>
      <PageHead title={words.title} lead={words.lead} />
      <Shown query={query}>
        {(data) => (
          <div className="stack">
            <p className="soft" style={{ margin: 0 }}>
              {words.takenAt} <At at={data.takenAt} />
            </p>
            {data.workers.length === 0 && (
              <Alert color="red" variant="light" icon={<Icon name="warning" />}>
                {words.noWorkers}
              </Alert>
            )}
            <Cells cells={data.cells} />
            <div className="cols">
              <Waits readings={data.readings} />
              <div className="stack">
                <Workers workers={data.workers} />
                <Machines machines={data.machines} />
                <Migrations migrations={data.migrations} />
              </div>
            </div>
          </div>
        )}
      </Shown>
    </>
  );
}

function Cells({ cells }: { cells: Processes['cells'] }) {
  const { processes: words } = useMachineWords();
  const { language } = useText();
  return (
    <section className="card" aria-labelledby="cells">
      <h2 id="cells">{words.cells}</h2>
      <table className="table folding">
        <thead>
          <tr>
            <th scope="col">{words.cell}</th>
            {[words.accounts, words.openPayments, words.oldest, words.connections, words.size].map((head) => (
              <th key={head} scope="col" className="right">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cells.map((one) => (
            <tr key={one.name}>
              <td className="wide">
                <span className="mono">{one.name}</span>{' '}
                <span className={`status ${one.open ? 'good' : 'rest'}`}>
                  {one.open ? words.open : words.closed}
                </span>
              </td>
              <td className="right num" data-label={words.accounts}>
                {one.accounts}
              </td>
              <td className="right num" data-label={words.openPayments}>
                {one.openPayments}
              </td>
              <td className="right num" data-label={words.oldest}>
                {spanOf(one.oldestDueSeconds, language)}
              </td>
              <td className="right num" data-label={words.connections}>
                {one.connections}
              </td>
              <td className="right num" data-label={words.size}>
                {fileSize(one.bytes, language)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

type Reading = Processes['readings'][number];

/** A delay of sends or deliveries above these seconds is worth a look; of a backup or a verification, two days. */
const lateAfter: Partial<Record<Reading['name'], number>> = {
  oldest_due_seconds: 60,
  unknown_oldest_seconds: 300,
  deliveries_waiting: 0,
  statement_lag_seconds: 3_600,
  statement_lines_set_aside: 0,
  unread_items: 0,
  outbox_lag_seconds: 60,
  webhook_oldest_due_seconds: 60,
  replication_lag_seconds: 60,
  backup_age_seconds: 2 * 86_400,
  verify_age_seconds: 2 * 86_400,
};

function Waits({ readings }: { readings: Reading[] }) {
  const { processes: words } = useMachineWords();
  const { language } = useText();
  return (
    <section className="card" aria-labelledby="waits">
      <div className="cardhead">
        <h2 id="waits">{words.waits}</h2>
        <span className="soft">{words.waitsLead}</span>
      </div>
      {readings.length === 0 ? (
        <p className="soft">{words.nothing}</p>
      ) : (
        <table className="table folding">
          <thead>
            <tr>
              <th scope="col">{words.what}</th>
              <th scope="col" className="right">
                {words.value}
              </th>
            </tr>
          </thead>
          <tbody>
            {readings.map((one) => (
              <tr key={`${one.name} ${one.of}`}>
                <td>
                  {words.readings[one.name]}
                  {one.of !== null && (
                    <div>
                      {one.name === 'replication_lag_seconds' ? one.of : <ConnectionLink name={one.of} />}
                    </div>
                  )}
                </td>
                <td className="right num">
                  <span className={one.value > (lateAfter[one.name] ?? 0) ? 'status ask' : ''}>
                    {one.name.endsWith('_seconds') ? spanOf(one.value, language) : one.value}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Workers({ workers }: { workers: Processes['workers'] }) {
  const { processes: words } = useMachineWords();
  return (
    <section className="card" aria-labelledby="workers">
      <h2 id="workers">{words.workers}</h2>
      <p className="soft">{words.workersLead}</p>
      <ul className="findings">
        {workers.map((one) => (
          <li key={one.id}>
            <span className="mono">{one.id}</span>
            <div className="soft">
              {words.worksIn} {one.cells.join(', ')}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Machines({ machines }: { machines: Processes['machines'] }) {
  const { processes: words } = useMachineWords();
  return (
    <section className="card" aria-labelledby="machines">
      <h2 id="machines">{words.machines}</h2>
      <p className="soft">{words.machinesLead}</p>
      <ul className="findings">
        {machines.map((one) => (
          <li key={one.address}>
            {one.address === null ? words.here : <span className="mono">{one.address}</span>}
            <div className="soft">
              {words.connections}: {one.connections}. {words.since} <At at={one.since} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Migrations({
  migrations: { applied, newest, newestAt, missing, unknown },
}: {
  migrations: Processes['migrations'];
}) {
  const { processes: words } = useMachineWords();
  return (
    <section className="card" aria-labelledby="migrations">
      <div className="cardhead">
        <h2 id="migrations">{words.migrations}</h2>
        {missing.length === 0 && unknown.length === 0 && (
          <span className="status good end">{words.upToDate}</span>
        )}
      </div>
      {missing.length > 0 && <p className="status bad">{words.missing(missing.join(', '))}</p>}
      {unknown.length > 0 && <p className="status ask">{words.unknown(unknown.join(', '))}</p>}
      <dl className="facts">
        <Fact name={words.applied}>{applied}</Fact>
        <Fact name={words.newest}>
          <span className="mono">{newest}</span>
        </Fact>
        {newestAt !== null && (
          <Fact name={words.since}>
            <At at={newestAt} />
          </Fact>
        )}
      </dl>
    </section>
  );
}

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const;

/** A span in its largest unit. */
function spanOf(seconds: number, language: Language): string {
  const [length, unit] = units.find(([least]) => seconds >= 2 * least) ?? [1, 'second'];
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: 0,
  }).format(seconds / length);
}
