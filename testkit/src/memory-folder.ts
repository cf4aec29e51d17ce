import { readFileSync, statfsSync } from 'node:fs';

export const memoryFolder = '/dev/shm';
/** More than a run has filled at any time, with room for what else the machine keeps there. */
const enoughBytes = 4 * 1024 ** 3;

/**
 * A folder that lies in memory, where a Linux machine has one that is large enough and runs programs from it (containers often have
 * neither). Clusters of a test live for seconds: a write that reaches a disk proves nothing more there, and tests wait for it.
 */
export function findMemoryFolder(): string | null {
  const path = memoryFolder;
  try {
    const mounted = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, at, type]) => at === path && type === 'tmpfs');
    const { bavail, bsize } = statfsSync(path);
    const runs = mounted?.[3]?.split(',').includes('noexec') === false;
    return runs && bavail * bsize >= enoughBytes ? path : null;
  } catch {
    return null;
  }
}
