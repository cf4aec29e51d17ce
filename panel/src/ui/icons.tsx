import type { ReactNode } from 'react';

const drawn = {
  home: 'M4 11.5 12 5l8 6.5M6 10v9h12v-9M10 19v-5h4v5',
  charge: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 14h2M14 18v2M18 18h2v2h-2',
  transfer: 'M4 9h14M14 5l4 4-4 4M20 15H6M10 19l-4-4 4-4',
  keypad: 'M5 4h4v4H5zM15 4h4v4h-4zM5 14h4v4H5zM15 14h4v4h-4zM10 11h4M12 9v4',
  lock: 'M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3',
  operations:
    'M4 9.5 5.5 5h13L20 9.5M4 9.5c0 1.5 1 2.5 2.5 2.5S9 11 9 9.5c0 1.500 1.300 2.500 3 2.500s3-1 3-2.500c0 1.500 1 2.500 2.500 2.500S20 11 20 9.500M5.500 12v7h13v-7M10 19v-4h4v4',
  statement: 'M6 4h12v16l-2.500-1.500L13 20l-2.500-1.500L8 20l-2-1.500zM9 9h6M9 13h6',
  code: 'M8 8l-4 4 4 4M16 8l4 4-4 4M13.500 5l-3 14',
  key: 'M8 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 12h9M20.500 12v3.500M16.500 12v2.500',
  webhook:
    'M12 7a3 3 0 1 1 2.600 4.500L17 16M10.500 11 7 17a2.500 2.500 0 1 1-2.500-3.500M9 17h7a2.500 2.500 0 1 0 3-3',
  book: 'M5 5c3-1 5-1 7 1 2-2 4-2 7-1v13c-3-1-5-1-7 1-2-2-4-2-7-1zM12 6v13',
  people:
    'M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM3.500 19c0-3 2.500-5 5.500-5s5.500 2 5.500 5M15.500 5.500a3 3 0 0 1 0 5.500M17 14.300c2 .7 3.500 2.400 3.500 4.700',
  shield: 'M12 4 5.500 6.500V12c0 4 3 6.800 6.500 8 3.500-1.200 6.500-4 6.500-8V6.500zM9.500 12l2 2 3.500-4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  mail: 'M4 6h16v12H4zM4 7l8 6 8-6',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  cross: 'M6 6l12 12M18 6 6 18',
  clock: 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM12 8v4.500l3 2',
  warning: 'M12 4 3 19h18zM12 10v4M12 16.500v.5',
  plus: 'M12 5v14M5 12h14',
  search: 'M11 17a6 6 0 1 0 0-12 6 6 0 0 0 0 12ZM15.500 15.500 20 20',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  down: 'M12 5v11M7 12l5 5 5-5M5 20h14',
  in: 'M17 7 7 17M7 9v8h8',
  out: 'M7 17 17 7M9 7h8v8',
  dots: 'M6 12h.01M12 12h.01M18 12h.01',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM5 20c0-3.500 3-6 7-6s7 2.500 7 6',
  download: 'M12 4v11m-5-4.5 5 5 5-5M5 20h14',
  print: 'M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z',
  finger:
    'M7 19c1-2 1.500-4 1.500-7a3.500 3.500 0 0 1 7 0c0 3-.3 5-1 7.500M12 12c0 3-.5 5.500-1.500 8M5 15c.4-1 .5-2 .5-3a6.500 6.500 0 0 1 13 0c0 1.500 0 3-.3 4.500',
  bell: 'M6 16v-5a6 6 0 1 1 12 0v5l1.500 2h-15zM10.500 20.500h3',
  history: 'M4 12a8 8 0 1 0 2.500-5.800M4 4v4h4M12 8v4.500l3 2',
  company: 'M5 20V5h9v15M14 10h5v10M3 20h18M8 9h3M8 13h3M8 17h3',
  scale: 'M12 4v16M8 20h8M5 7h14M5 7l-2.500 6h5zM19 7l-2.500 6h5z',
  back: 'M14.500 6l-6 6 6 6',
  link: 'M10 6H6v12h12v-4M13 5h6v6M19 5l-8 8',
} as const;

export type IconName = keyof typeof drawn;

/** A sign beside words: hidden from screen readers, which have the words. */
export function Icon({ name, size = 20 }: { name: IconName; size?: number }): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'dots' ? 3 : 1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={drawn[name]} />
    </svg>
  );
}
