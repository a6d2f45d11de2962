// The published documents as they are served.
import { readFileSync } from 'node:fs'

const OPENAPI = new URL('../../generated/openapi.json', import.meta.url)
const ASYNCAPI = new URL('../../generated/asyncapi.json', import.meta.url)

type Document = Record<string, unknown>

/** Both documents, read once. `preview`: of a server that serves the preview, and says so of each part of it. */
export const documents = { openapi: served(OPENAPI), asyncapi: served(ASYNCAPI) }

function served(file: URL): (preview?: boolean) => Document {
  const published = once(() => JSON.parse(readFileSync(file, 'utf8')) as Document)
  const previewed = once(() => JSON.parse(readFileSync(file, 'utf8'), sayPreview) as Document)
  return (preview = false) => (preview ? previewed() : published())
}

function sayPreview(_key: string, value: unknown): unknown {
  const marked = typeof value === 'object' && value !== null && 'x-svc-preview' in value
  return marked ? { ...value, 'x-svc-implementation': 'preview' } : value
}

/** Makes a value when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let value: { made: T } | null = null
  return () => {
    value ??= { made: make() }
    return value.made
  }
}
