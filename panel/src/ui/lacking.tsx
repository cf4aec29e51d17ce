import { useEffect } from 'react';
import type { Words } from '../text/pt.ts';
import { useWords } from '../text/text.tsx';

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

const isControl = (target: EventTarget | null): target is Control =>
  target instanceof HTMLInputElement ||
  target instanceof HTMLTextAreaElement ||
  target instanceof HTMLSelectElement;

/** The lack of a field, in the language of the page. */
function lackOf(control: Control, words: Words['lacking']): string {
  const { validity, type, validationMessage } = control;
  if (validity.valueMissing) return type === 'checkbox' ? words.tick : words.missing;
  if (validity.tooShort && 'minLength' in control) return words.tooShort(control.minLength);
  if (validity.typeMismatch && type === 'email') return words.email;
  if (validity.typeMismatch && type === 'url') return words.url;
  return validity.customError ? validationMessage : words.other;
}

/**
 * Says below each field what it lacks when a form cannot be sent. The bubble of the browser speaks the browser's language, covers what stands
 * below, and shows one field at a time. One listener for every form: a field is shown as lacking until it is typed in.
 */
export function Lacking() {
  const { lacking: words } = useWords();
  useEffect(() => {
    const shown = new Map<Control, () => void>();
    let underWay = false;
    const show = (control: Control): void => {
      shown.get(control)?.();
      const place = control.closest('.mantine-InputWrapper-root') ?? control.parentElement;
      // Some fields say it themselves while they are typed in.
      if (place === null || place.querySelector('.mantine-InputWrapper-error') !== null) return;
      const text = document.createElement('p');
      text.className = 'lacking';
      text.id = `lacking-${control.id}`;
      text.textContent = lackOf(control, words);
      place.append(text);
      const before = control.getAttribute('aria-describedby');
      control.dataset.lacks = '';
      control.setAttribute('aria-invalid', 'true');
      control.setAttribute('aria-describedby', [before, text.id].filter(Boolean).join(' '));
      shown.set(control, () => {
        text.remove();
        delete control.dataset.lacks;
        control.removeAttribute('aria-invalid');
        if (before === null) control.removeAttribute('aria-describedby');
        else control.setAttribute('aria-describedby', before);
        shown.delete(control);
      });
    };
    const onInvalid = (event: Event): void => {
      if (!isControl(event.target)) return;
      event.preventDefault();
      show(event.target);
      // Of the fields of one form the first one comes first.
      if (underWay) return;
      underWay = true;
      event.target.focus();
      // Behind the events of the other fields: between two of them microtasks run.
      setTimeout(() => {
        underWay = false;
      });
    };
    const onInput = (event: Event): void => {
      if (isControl(event.target)) shown.get(event.target)?.();
    };
    document.addEventListener('invalid', onInvalid, true);
    document.addEventListener('input', onInput, true);
    return () => {
      document.removeEventListener('invalid', onInvalid, true);
      document.removeEventListener('input', onInput, true);
      for (const end of [...shown.values()]) end();
    };
  }, [words]);
  return null;
}
