export const passwordLength = { minimum: 12, maximum: 128 } as const;
