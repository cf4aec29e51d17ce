import { createTheme } from '@mantine/core';

/** Deep green for what acts, copper (the coin) for what is ours, sand for rest. */
export const theme = createTheme({
  primaryColor: 'mata',
  primaryShade: 7,
  colors: {
    // Of the dark scheme: our green in its greys. The last ones are the page and what lies on it.
    dark: [
      '#e8ece9',
      '#c9d1cc',
      '#a9b5af',
      '#7d8a83',
      '#46534c',
      '#33403a',
      '#232c28',
      '#1a211e',
      '#151b18',
      '#121715',
    ],
    mata: [
      '#edf7f3',
      '#d8ece4',
      '#aed8c8',
      '#80c2a9',
      '#5aaf8f',
      '#42a37e',
      '#2a8767',
      '#1b7255',
      '#125e45',
      '#094936',
    ],
    red: [
      '#fdecec',
      '#f8d7d8',
      '#efb0b2',
      '#e5868a',
      '#d96166',
      '#c4393f',
      '#a4262c',
      '#8f1f25',
      '#7a181e',
      '#651217',
    ],
    cobre: [
      '#fdf3ec',
      '#f6e3d5',
      '#eac4a6',
      '#dea373',
      '#d4874a',
      '#c97433',
      '#b7682c',
      '#9a5422',
      '#7f441b',
      '#653513',
    ],
  },
  defaultRadius: 'md',
  fontFamily:
    "Inter, ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', 'Cascadia Mono', 'Roboto Mono', Menlo, Consolas, monospace",
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Modal: {
      defaultProps: {
        centered: true,
        radius: 'lg',
        overlayProps: { backgroundOpacity: 0.45 },
        // Its head is a `header`, which would be a second banner of the page.
        attributes: { header: { role: 'presentation' } },
      },
    },
    Button: { defaultProps: { radius: 'md' } },
    Skeleton: { defaultProps: { radius: 'md' } },
  },
});
