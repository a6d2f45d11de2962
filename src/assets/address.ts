// Addresses of files, as callers write them.
import { isKey, uriOf } from './keys.ts'

/** The key of a file whose address, the path with or without a query, is given; null for what is no such address. */
export function keyOf(uri: string): string | null {
  const storage = uriOf('')
  if (!uri.startsWith(storage)) return null
  const key = decoded(uri.slice(storage.length).replace(/[?#].*$/s, ''))
  return key !== null && isKey(key) ? key : null
}

function decoded(key: string): string | null {
  try {
    return decodeURIComponent(key)
  } catch {
    return null
  }
}
