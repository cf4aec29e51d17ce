/** A browser on this machine may have been given any of the names of loopback. */
export function originsOf(publicUrl: string): ReadonlySet<string> {
  const { origin, hostname, protocol, port } = new URL(publicUrl);
  const loopback = ['127.0.0.1', 'localhost', '[::1]'];
  if (protocol !== 'http:' || !loopback.includes(hostname)) return new Set([origin]);
  return new Set(loopback.map((name) => new URL(`http://${name}${port ? `:${port}` : ''}`).origin));
}
