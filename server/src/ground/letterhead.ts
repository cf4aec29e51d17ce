/** How a merchant shows itself at the top of what people of its account read: receipts, statements' files and mails. */
export interface Letterhead {
  name: string;
  /** A line under the name; null: none. */
  detail: string | null;
  /** `#rrggbb`, with a contrast of 4.5 to white; null: ours. */
  colour: string | null;
  /** PNG of this program's own making. */
  logo: Buffer | null;
}
