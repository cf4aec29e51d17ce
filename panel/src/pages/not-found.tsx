import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useWords } from '../text/text.tsx';

export function NotFound() {
  const words = useWords();
  useEffect(() => {
    document.title = `${words.errors.notFoundTitle} · vintem`;
  }, [words]);
  return (
    <div className="empty">
      <h1 style={{ fontSize: 26, margin: '0 0 6px', color: 'var(--ink)' }}>{words.errors.notFoundTitle}</h1>
      <p>{words.errors.notFound}</p>
      <Button component={Link} to="/">
        {words.errors.goHome}
      </Button>
    </div>
  );
}
