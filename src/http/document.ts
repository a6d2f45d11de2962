// The published documents as they are served.
import { readFileSync } from 'node:fs'

const OPENAPI = new URL('../../generated/openapi.json', import.meta.url)
const ASYNCAPI = new URL('../../generated/asyncapi.json', import.meta.url)

/** Both documents, read once. */
export const documents = {
  openapi: once(() => JSON.parse(readFileSync(OPENAPI, 'utf8')) as Record<string, unknown>),
  asyncapi: once(() => JSON.parse(readFileSync(ASYNCAPI, 'utf8')) as Record<string, unknown>),
}

function once<T>(make: () => T): () => T {
  let value: { made: T } | null = null
  return () => {
    value ??= { made: make() }
    return value.made
  }
}
