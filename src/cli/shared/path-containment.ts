// Tells where a path really leads.
import { realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'

/** Whether `path`, which may be missing, is `folder` or lies below it after links are resolved. */
export async function isPathInside(path: string, folder: string): Promise<boolean> {
  const real = async (name: string): Promise<string> => {
    const found = await realpath(name).catch(() => null)
    if (found !== null || dirname(name) === name) return found ?? name
    return join(await real(dirname(name)), basename(name))
  }
  const way = relative(await real(folder), await real(path))
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
