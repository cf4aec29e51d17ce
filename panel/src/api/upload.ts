import { changeHeaders, Problem } from './client.ts';

/**
 * Sends a file as the body of a call. `fetch` does not tell how much of a body has gone out.
 * @param progress called with the share that has gone out, 0 to 1
 * @throws Problem
 */
export function upload(
  path: string,
  file: Blob,
  progress: (share: number) => void,
  headers: Record<string, string> = changeHeaders(),
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    for (const [name, value] of Object.entries({ ...headers, 'content-type': file.type }))
      request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => progress(total === 0 ? 0 : loaded / total);
    request.onerror = () => reject(new Problem(0, undefined));
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve();
      else reject(new Problem(request.status, bodyOf(request.responseText)));
    };
    request.send(file);
  });
}

function bodyOf(text: string): ConstructorParameters<typeof Problem>[1] {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
