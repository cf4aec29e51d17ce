import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { setRequestLanguage } from '../api/client.ts';
import { keptUnder } from '../kept.ts';
import { type Language, pt, type Words } from './pt.ts';

interface Text {
  language: Language;
  words: Words;
  choose: (language: Language) => void;
}

const TextContext = createContext<Text>({ language: 'pt-BR', words: pt, choose: () => {} });

const english = () => import('./en.ts');

const keptLanguage = (): Language => (localStorage.getItem(keptUnder.language) === 'en' ? 'en' : 'pt-BR');

/** Portuguese is part of the program; English is read when it is wanted. */
export function TextProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState<Language>(keptLanguage);
  const [words, setWords] = useState<Words | null>(language === 'pt-BR' ? pt : null);
  useEffect(() => {
    let left = false;
    setRequestLanguage(language);
    document.documentElement.lang = language;
    localStorage.setItem(keptUnder.language, language);
    if (language === 'pt-BR') setWords(pt);
    else
      void english().then(({ en }) => {
        if (!left) setWords(en);
      });
    return () => {
      left = true;
    };
  }, [language]);
  if (words === null) return null;
  return <TextContext value={{ language, words, choose: setLanguage }}>{children}</TextContext>;
}

export const useText = (): Text => useContext(TextContext);
export const useWords = (): Words => useContext(TextContext).words;
