import { useQuery } from '@tanstack/react-query';

/** A QR code drawn here: the secret of a second factor goes nowhere else. `wide`: as wide as its place, for paper. */
export function Qr({ text, label, wide = false }: { text: string; label: string; wide?: boolean }) {
  const maxWidth = wide ? 'none' : 240;
  const { data } = useQuery({
    queryKey: ['qr', text],
    queryFn: async () => {
      const { default: encodeQR } = await import('qr');
      return encodeQR(text, 'raw', { border: 2 });
    },
    gcTime: 0,
  });
  if (!data) return <div style={{ aspectRatio: 1, maxWidth }} />;
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      className="qr"
      style={{ maxWidth }}
      viewBox={`0 0 ${data.length} ${data.length}`}
      shapeRendering="crispEdges"
      role="img"
      aria-label={label}
    >
      <path d={path} fill="#000" />
    </svg>
  );
}
