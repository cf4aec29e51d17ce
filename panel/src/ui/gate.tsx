import { type ReactNode, useEffect } from 'react';
import { useWords } from '../text/text.tsx';
import { Brand, LanguageSwitch } from './brand.tsx';

/** Around every page of a person who is not signed in. The panel's, unless another lead and home are given. */
export function Gate({
  title,
  lead,
  home,
  children,
}: {
  title: string;
  lead?: string;
  home?: '/' | '/operator';
  children: ReactNode;
}) {
  const words = useWords();
  useEffect(() => {
    document.title = `${title} · vintem`;
  }, [title]);
  return (
    <div className="gate">
      <aside>
        <div style={{ display: 'flex', justifyContent: 'space-between', alignItems: 'center' }}>
          <Brand {...(home && { to: home })} />
          <LanguageSwitch />
        </div>
        <p>{lead ?? words.signIn.lead}</p>
        <img className="coin" src="/vintem.svg" alt="" />
      </aside>
      <main>{children}</main>
    </div>
  );
}
