// A folder of which no file can be opened, as after a change of its owner: also where the tests run as somebody who may open any file.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Until it is disposed of, no file in a folder can be opened. `tried` counts how often one was to be. */
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
