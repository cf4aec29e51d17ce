import { expect, test } from 'vitest';
import { commands } from './commands.ts';
import { optionWords } from './option-words.ts';
import { help } from './words.ts';

test('The help of a command says of each of its options what it does, and no words are left over', () => {
  const used = new Set<string>();
  for (const command of commands) {
    const text = help(command);
    for (const option of Object.keys(command.options ?? {})) {
      const key = optionWords[`${command.name} ${option}`] ? `${command.name} ${option}` : option;
      used.add(key);
      expect(optionWords[key], `${command.name} --${option}`).toBeTruthy();
      expect(text).toMatch(new RegExp(`\\n  --${option} +\\S`));
    }
  }
  expect(Object.keys(optionWords).filter((key) => !used.has(key))).toEqual([]);
});
