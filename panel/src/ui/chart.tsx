import { Button } from '@mantine/core';
import { useState } from 'react';
import type { Overview } from '../api/client.ts';
import { addDays, dayOf, money, roughMoney, shortDay } from '../format.ts';
import { useText, useWords } from '../text/text.tsx';
import { Money } from './parts.tsx';
import { Segments } from './segments.tsx';

type Day = Overview['days'][number];

/** Days of the chart; the one before is read as well. */
export const periods = [7, 30, 90] as const;

const width = 900;
const height = 200;
const left = 0;
const bottom = 6;

/** Money in and out by day: bars beside each other, and the same as a table; and beside the period before. */
export function DayChart({
  days: given,
  complete,
  count,
  choose,
}: {
  /** Of twice as many days: those before are what the period is compared with. */
  days: Day[];
  /** False: the service is still summing up the latest ones. */
  complete: boolean;
  count: number;
  choose: (count: number) => void;
}) {
  const words = useWords();
  const [table, setTable] = useState(false);
  const known = new Map(given.map((day) => [day.day, day]));
  const first = addDays(dayOf(new Date()), 1 - count);
  const days = given.filter(({ day }) => day >= first);
  const before = given.filter(({ day }) => day < first);
  const all = Array.from({ length: count }, (_, at) => {
    const day = addDays(first, at);
    return known.get(day) ?? { day, inCents: 0, outCents: 0 };
  });
  const empty = days.length === 0;
  return (
    <section className="card later" aria-labelledby="by-day">
      <div className="cardhead">
        <h2 id="by-day">{words.home.chartTitle}</h2>
        <span className="soft">{complete ? words.home.chartAbout : words.home.chartPartial}</span>
        <Segments
          className="end"
          label={words.period.label}
          data={periods.map((value) => ({ value: String(value), label: words.home.lastDays(value) }))}
          value={String(count)}
          onChoice={(value) => choose(Number(value))}
        />
        {!empty && (
          <Button variant="subtle" size="compact-sm" onClick={() => setTable(!table)}>
            {table ? words.home.asChart : words.home.asTable}
          </Button>
        )}
      </div>
      <dl className="figures" style={{ border: 0, margin: '0 0 14px', padding: 0 }}>
        <Compared label={words.home.in} field="inCents" days={days} before={before} count={count} />
        <Compared label={words.home.out} field="outCents" days={days} before={before} count={count} />
      </dl>
      {empty ? (
        <p className="soft" style={{ margin: '28px 0', textAlign: 'center' }}>
          {words.home.chartEmpty(count)}
        </p>
      ) : table ? (
        <DayTable days={days} />
      ) : (
        <>
          <Bars days={all} />
          <Axis days={all} />
          <Legend />
        </>
      )}
    </section>
  );
}

/** The figures of the bars, the newest day first. */
function DayTable({ days }: { days: Day[] }) {
  const words = useWords();
  return (
    <div className="scroll">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{words.home.day}</th>
            <th scope="col" className="right">
              {words.home.in}
            </th>
            <th scope="col" className="right">
              {words.home.out}
            </th>
          </tr>
        </thead>
        <tbody>
          {[...days].reverse().map((day) => (
            <tr key={day.day}>
              <td className="num">{shortDay(day.day)}</td>
              <td className="right">
                <Money cents={day.inCents} />
              </td>
              <td className="right">
                <Money cents={day.outCents} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Bars({ days }: { days: Day[] }) {
  const { language, words } = useText();
  const top = niceTop(Math.max(...days.map((day) => Math.max(day.inCents, day.outCents)), 100));
  // On a day with more cancelled than sent transfers, less than nothing went out.
  const y = (cents: number) => (height - bottom) * (1 - Math.max(0, cents) / top) * 0.94 + 8;
  const step = (width - left) / days.length;
  return (
    <div className="chartbox">
      {[1, 0.5, 0].map((part) => (
        <span
          key={part}
          className="mark num"
          style={{ top: `${(y(top * part) / height) * 100}%` }}
          aria-hidden="true"
        >
          {roughMoney(top * part, language)}
        </span>
      ))}
      <svg
        className="chart"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={words.home.chartTitle}
      >
        {[0, 0.5, 1].map((part) => (
          <line key={part} className="grid" x1={left} x2={width} y1={y(top * part)} y2={y(top * part)} />
        ))}
        {days.map((day, at) => (
          <g key={day.day}>
            <title>{`${shortDay(day.day)}: ${words.home.in} ${money(day.inCents)}, ${words.home.out} ${money(day.outCents)}`}</title>
            <rect x={left + at * step} y={0} width={step} height={height - bottom} fill="transparent" />
            <rect
              className="in"
              x={left + at * step + step * 0.14}
              width={step * 0.34}
              y={y(day.inCents)}
              height={y(0) - y(day.inCents)}
              rx={2}
            />
            <rect
              className="out"
              x={left + at * step + step * 0.52}
              width={step * 0.34}
              y={y(day.outCents)}
              height={y(0) - y(day.outCents)}
              rx={2}
            />
          </g>
        ))}
      </svg>
    </div>
  );
}

function Axis({ days }: { days: Day[] }) {
  return (
    <div className="axis" aria-hidden="true">
      <span>{shortDay(days[0]?.day ?? '')}</span>
      <span>{shortDay(days[Math.floor(days.length / 2)]?.day ?? '')}</span>
      <span>{shortDay(days[days.length - 1]?.day ?? '')}</span>
    </div>
  );
}

function Legend() {
  const words = useWords();
  return (
    <div className="legend">
      <span>
        <i style={{ background: 'var(--mantine-color-mata-6)' }} />
        {words.home.in}
      </span>
      <span>
        <i style={{ background: 'var(--mantine-color-cobre-4)' }} />
        {words.home.out}
      </span>
    </div>
  );
}

/** A sum, and how it compares with the period before; nothing to compare with says so. */
function Compared({
  label,
  field,
  days,
  before,
  count,
}: {
  label: string;
  field: 'inCents' | 'outCents';
  days: Day[];
  before: Day[];
  count: number;
}) {
  const { words } = useText();
  const sumOf = (some: Day[]) => some.reduce((sum, day) => sum + day[field], 0);
  const [now, then] = [sumOf(days), sumOf(before)];
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <Money cents={now} />
      </dd>
      <dd className="soft" style={{ fontSize: 13, fontWeight: 400 }}>
        {then === 0
          ? words.home.nothingBefore(count)
          : words.home.compared(percent(now / then - 1), money(then), count)}
      </dd>
    </div>
  );
}

/** `+12%`, `−3%`, `0%`. */
function percent(share: number): string {
  const whole = Math.round(share * 100);
  return `${whole > 0 ? '+' : ''}${whole}%`.replace('-', '−');
}

/** 1, 2 or 5 times a power of ten. */
function niceTop(cents: number): number {
  const power = 10 ** Math.floor(Math.log10(cents));
  return [1, 2, 5, 10].map((times) => times * power).find((top) => top >= cents) ?? cents;
}
