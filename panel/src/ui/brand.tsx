import { ActionIcon } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Language } from '../text/pt.ts';
import { useText } from '../text/text.tsx';

export function Brand({ to = '/' }: { to?: '/' | '/operator' }) {
  return (
    <Link to={to} className="brand">
      <img src="/vintem.svg" alt="" width="30" height="30" />
      vintem
    </Link>
  );
}

export function LanguageSwitch() {
  const { language, choose } = useText();
  const other: Language = language === 'en' ? 'pt-BR' : 'en';
  return (
    <ActionIcon
      variant="default"
      size={36}
      aria-label={other === 'en' ? 'EN English' : 'PT Português'}
      onClick={() => choose(other)}
    >
      <span lang={other} style={{ fontSize: 13, fontWeight: 600 }}>
        {other === 'en' ? 'EN' : 'PT'}
      </span>
    </ActionIcon>
  );
}
