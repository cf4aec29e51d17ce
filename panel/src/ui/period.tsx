import { TextInput } from '@mantine/core';
import { addDays, dayOf } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { Choice } from './choice.tsx';

/** A period as it stands in the address: a preset, which moves with the day, or two days of São Paulo. */
export interface PeriodSearch {
  periodo?: string;
  de?: string;
  ate?: string;
}

const presets = ['hoje', '7d', '30d', 'mes', 'mes-passado'] as const;
export type Preset = (typeof presets)[number];

/** The first and the last day; undefined: no bound on that side. */
export interface Days {
  de: string | undefined;
  ate: string | undefined;
}

function daysOfPreset(preset: Preset, today: string): Days {
  const first = `${today.slice(0, 8)}01`;
  switch (preset) {
    case 'hoje':
      return { de: today, ate: today };
    case '7d':
      return { de: addDays(today, -6), ate: today };
    case '30d':
      return { de: addDays(today, -29), ate: today };
    case 'mes':
      return { de: first, ate: today };
    case 'mes-passado':
      return { de: `${addDays(first, -1).slice(0, 8)}01`, ate: addDays(first, -1) };
  }
}

const isPreset = (text: string | undefined): text is Preset => presets.some((one) => one === text);
const isDay = (text: string | undefined): text is string =>
  text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`));

/** The period in the address; days in the wrong order are taken in the right one. */
export function daysOf({ periodo, de, ate }: PeriodSearch, fallback: Preset | null): Days {
  const today = dayOf(new Date());
  if (isPreset(periodo)) return daysOfPreset(periodo, today);
  const [first, last] = [isDay(de) ? de : undefined, isDay(ate) ? ate : undefined];
  if (first === undefined && last === undefined) {
    return fallback === null ? { de: undefined, ate: undefined } : daysOfPreset(fallback, today);
  }
  return first !== undefined && last !== undefined && last < first
    ? { de: last, ate: first }
    : { de: first, ate: last };
}

/** Presets, and two dates for a range of one's own. */
export function PeriodField({
  search,
  fallback,
  onSearch,
}: {
  search: PeriodSearch;
  /** The period of an address without one; null: all time. */
  fallback: Preset | null;
  onSearch: (period: PeriodSearch) => void;
}) {
  const words = useWords();
  const own = search.periodo === 'datas' || Boolean(search.de ?? search.ate);
  const shown = daysOf(search, fallback);
  return (
    <>
      <Choice
        label={words.period.label}
        data={[
          ...(fallback === null ? [{ value: '', label: words.period.all }] : []),
          ...presets.map((value) => ({ value, label: words.period[value] })),
          { value: 'datas', label: words.period.own },
        ]}
        value={isPreset(search.periodo) ? search.periodo : own ? 'datas' : (fallback ?? '')}
        onChoice={(value) =>
          onSearch(
            value === 'datas'
              ? { periodo: 'datas', ...(shown.de && { de: shown.de }), ...(shown.ate && { ate: shown.ate }) }
              : value
                ? { periodo: value }
                : {},
          )
        }
        className="wide"
        miw={160}
      />
      {own && !isPreset(search.periodo) && (
        <>
          <TextInput
            type="date"
            className="fold"
            label={words.common.from}
            value={search.de ?? ''}
            onChange={(event) =>
              onSearch({ periodo: 'datas', ...search, ...filled('de', event.currentTarget.value) })
            }
          />
          <TextInput
            type="date"
            className="fold"
            label={words.common.to}
            value={search.ate ?? ''}
            onChange={(event) =>
              onSearch({ periodo: 'datas', ...search, ...filled('ate', event.currentTarget.value) })
            }
          />
        </>
      )}
    </>
  );
}

/** An empty value leaves the address. */
const filled = (name: 'de' | 'ate', value: string): PeriodSearch => ({ [name]: value || undefined });
