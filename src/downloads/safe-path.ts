// Checks which paths of a hub can be used here.

const LONGEST = 1_024
/** In bytes, which most systems count. */
const LONGEST_NAME = 255
/** Characters that some system does not read as a part of a name. */
const UNSAFE_CHARACTERS = /[\p{Cc}\\:*?"<>|]|[. ]$/u
/** Names that Windows takes for a device, whatever follows their dot. */
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)/i

/** Whether a path names a file below its folder on every system, and no file that a program would run. */
export function isSafePath(path: string): boolean {
  return path.length <= LONGEST && path.isWellFormed() && path.split('/').every(isSafeName)
}

function isSafeName(name: string): boolean {
  const fits = name !== '' && Buffer.byteLength(name) <= LONGEST_NAME
  return fits && !UNSAFE_CHARACTERS.test(name) && !WINDOWS_DEVICE.test(name) && name.toLowerCase() !== 'node_modules'
}

/** Returns the same text for two paths that some system takes for one. */
export function foldPath(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
