import { money } from '../format.ts';
import { keptUnder } from '../kept.ts';
import type { Language } from '../text/pt.ts';

export const soundChoices = ['voice', 'tone', 'none'] as const;
export type SoundChoice = (typeof soundChoices)[number];

export const keptSound = (): SoundChoice =>
  soundChoices.find((one) => one === localStorage.getItem(keptUnder.counterSound)) ?? 'voice';
export const keepSound = (choice: SoundChoice): void => localStorage.setItem(keptUnder.counterSound, choice);

/** Browsers give sound only after a press: the one that made the charge opens it, and the payment is heard minutes later. */
let context: AudioContext | null = null;

export function openSound(): void {
  if (typeof AudioContext === 'undefined') return;
  context ??= new AudioContext();
  void context.resume().catch(() => {});
}

/** Two notes upwards, and the amount in words where the browser has a voice. */
export function soundPaid(
  choice: SoundChoice,
  { cents, language, spoken }: { cents: number; language: Language; spoken: (amount: string) => string },
): void {
  if (choice === 'none') return;
  if (context?.state === 'running') {
    for (const [at, hertz] of [
      [0, 880],
      [0.16, 1_318],
    ] as const)
      note(context, context.currentTime + at, hertz);
  }
  if (choice !== 'voice' || !('speechSynthesis' in window)) return;
  const words = new SpeechSynthesisUtterance(spoken(money(cents)));
  words.lang = language;
  window.speechSynthesis.speak(words);
}

function note(audio: AudioContext, at: number, hertz: number): void {
  const tone = audio.createOscillator();
  const volume = audio.createGain();
  tone.frequency.value = hertz;
  volume.gain.setValueAtTime(0.25, at);
  volume.gain.exponentialRampToValueAtTime(0.001, at + 0.5);
  tone.connect(volume).connect(audio.destination);
  tone.start(at);
  tone.stop(at + 0.5);
}
