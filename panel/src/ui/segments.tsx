import { useId } from 'react';

/**
 * One of two to four, all of them in sight: radio buttons that look like one control. The library's (`SegmentedControl`) measures itself while
 * the page is being put together, which has the browser lay out the whole page in the middle of that.
 */
export function Segments<Value extends string>({
  label,
  data,
  value,
  onChoice,
  vertical = false,
  className = '',
}: {
  label: string;
  data: readonly { value: Value; label: string }[];
  value: Value;
  onChoice: (value: Value) => void;
  /** One below the other. */
  vertical?: boolean;
  className?: string;
}) {
  const name = useId();
  return (
    <div
      role="radiogroup"
      aria-label={label}
      className={`segments ${vertical ? 'vertical' : ''} ${className}`}
    >
      {data.map((one) => (
        <label key={one.value}>
          <input
            type="radio"
            name={name}
            value={one.value}
            checked={one.value === value}
            onChange={() => onChoice(one.value)}
          />
          <span>{one.label}</span>
        </label>
      ))}
    </div>
  );
}
