// Deep equality of plain data.

function listDefinedKeys(value: object): string[] {
  return Object.keys(value).filter((key) => (value as Record<string, unknown>)[key] !== undefined)
}

function areBytesEqual(a: ArrayBufferView, b: ArrayBufferView): boolean {
  const [one, other] = [a, b].map((view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength))
  return one!.length === other!.length && one!.every((byte, at) => byte === other![at])
}

/** Compares plain data recursively. A key whose value is undefined counts as absent. */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  if (ArrayBuffer.isView(a) || ArrayBuffer.isView(b))
    return ArrayBuffer.isView(a) && ArrayBuffer.isView(b) && areBytesEqual(a, b)
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    return a.every((one, at) => isDeepEqual(one, b[at]))
  }
  const keys = listDefinedKeys(a)
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>]
  return keys.length === listDefinedKeys(b).length && keys.every((key) => isDeepEqual(left[key], right[key]))
}
