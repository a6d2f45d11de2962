// Reads the published documents of the contract.
import { readFileSync } from 'node:fs'

const OPENAPI = new URL('../../../generated/openapi.json', import.meta.url)
const ASYNCAPI = new URL('../../../generated/asyncapi.json', import.meta.url)

type ContractDocument = Record<string, unknown>

/** Both documents, read once. `preview` marks the operations that a server with the preview serves. */
export const contractDocuments = { openapi: createDocumentReader(OPENAPI), asyncapi: createDocumentReader(ASYNCAPI) }

function createDocumentReader(file: URL): (preview?: boolean) => ContractDocument {
  const published = memoize(() => JSON.parse(readFileSync(file, 'utf8')) as ContractDocument)
  const previewed = memoize(() => JSON.parse(readFileSync(file, 'utf8'), markPreview) as ContractDocument)
  return (preview = false) => (preview ? previewed() : published())
}

function markPreview(_key: string, value: unknown): unknown {
  const marked = typeof value === 'object' && value !== null && 'x-svc-preview' in value
  return marked ? { ...value, 'x-svc-implementation': 'preview' } : value
}

/** Computes a value on first use. */
export function memoize<T>(compute: () => T): () => T {
  let cached: { value: T } | null = null
  return () => {
    cached ??= { value: compute() }
    return cached.value
  }
}
