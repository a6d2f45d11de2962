// A folder in which no file can be opened, as after a change of owner. It works even for a user that may open any file.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Until disposal, no file in the folder can be opened. `tried` counts the attempts. */
export function closed(folder: string): Disposable & { readonly tried: number } {
  let tried = 0
  const real = fs.openSync
  const replace = (open: typeof fs.openSync) => {
    fs.openSync = open
    syncBuiltinESMExports()
  }
  replace((path, ...more) => {
    if (!String(path).startsWith(folder)) return real(path, ...more)
    tried++
    throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES', path })
  })
  return {
    get tried() {
      return tried
    },
    [Symbol.dispose]: () => replace(real),
  }
}
