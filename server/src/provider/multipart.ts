/** A body as HTML forms send files (RFC 7578): some fields and one file. */
export interface FormBody {
  type: string;
  bytes: Buffer;
}

interface FormFile {
  field: string;
  name: string;
  type: string;
  contents: Buffer;
}

/** @param boundary stands in no value */
export function formOf(fields: Readonly<Record<string, string>>, file: FormFile, boundary: string): FormBody {
  const parts = Object.entries(fields).map(([name, value]) =>
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`),
  );
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="${file.field}"; filename="${quoted(file.name)}"\r\ncontent-type: ${file.type}\r\n\r\n`;
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    bytes: Buffer.concat([
      ...parts,
      Buffer.from(head),
      file.contents,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
  };
}

/** As browsers write a name (HTML, "multipart/form-data"): UTF-8, with these three characters escaped. */
const quoted = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
