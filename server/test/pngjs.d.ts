/** The one call of pngjs that the tests use; the package brings no types. */
declare module 'pngjs' {
  export const PNG: { sync: { read(png: Buffer): { width: number; height: number; data: Buffer } } };
}
