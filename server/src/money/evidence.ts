import type { FileType } from '../provider/provider.ts';

/** The files of a defence: what is taken. Pure. */
export interface DisputeFile {
  accountId: string;
  id: string;
  disputeId: string;
  operationId: string;
  /** Empty once the payer is anonymised. */
  name: string;
  type: FileType;
  sizeBytes: number;
  /** Of the contents, in hex. */
  sha256: string;
  createdAt: number;
}

export const fileTypes = [
  'application/pdf',
  'image/png',
  'image/jpeg',
] as const satisfies readonly FileType[];

/** The files kept for one dispute. No provider says how many it takes, so the number is ours. */
export const filesMost = 5;

/** Of one file: what Woovi takes (docs/arquivos/upload-de-arquivo.md), and what the table holds. */
export const fileMostBytes = 10 * 1024 * 1024;

/** Of all files that an account keeps. */
export const accountMostBytes = 200 * 1024 * 1024;

export const nameMost = 120;

const beginnings: Readonly<Record<FileType, Buffer>> = {
  'application/pdf': Buffer.from('%PDF-'),
  'image/png': Buffer.from('89504e470d0a1a0a', 'hex'),
  'image/jpeg': Buffer.from('ffd8ff', 'hex'),
};

/** Whether the contents begin as a file of the type does. More is not read: nothing here opens, shows or serves a file. */
export const beginsAs = (type: FileType, contents: Buffer): boolean =>
  contents.subarray(0, beginnings[type].length).equals(beginnings[type]);

/** A name and no path. */
export const isFileName = (name: string): boolean => !/[\\/]/.test(name) && !/^\.{1,2}$/.test(name);
