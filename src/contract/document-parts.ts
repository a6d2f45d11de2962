// What a document is made of, piece by piece, each as text: so that a document can be held against another that has only some of them.
import { HTTP_METHODS } from './diff/http-operations.ts'
import { canonicalJson, type Json, type JsonMap, mapOf, textOf } from './json.ts'

export interface DocumentPart {
  readonly text: string
  /** `planned`, `partial` or `implemented`. */
  readonly status: string
}

/** The operations, each with what its path says of all. */
export function listHttpParts(document: JsonMap): Map<string, DocumentPart> {
  const pieces = new Map<string, DocumentPart>()
  for (const [path, item] of Object.entries(mapOf(document.paths))) {
    const [operations, shared] = [mapOf(item), { ...mapOf(item) }]
    for (const method of HTTP_METHODS) delete shared[method]
    for (const [method, node] of Object.entries(operations))
      if (HTTP_METHODS.has(method)) pieces.set(`${method.toUpperCase()} ${path}`, toDocumentPart(node, [shared, node]))
  }
  return pieces
}

/** The messages, each with what its channel says of all. Examples are some of many: an envelope has those of its variants. */
export function listSocketParts(document: JsonMap): Map<string, DocumentPart> {
  const pieces = new Map<string, DocumentPart>()
  for (const [name, channel] of Object.entries(mapOf(document.channels))) {
    const { messages, ...shared } = mapOf(channel)
    for (const [key, node] of Object.entries(mapOf(messages))) {
      const { examples: _examples, ...message } = mapOf(node)
      pieces.set(`channel ${name} message ${key}`, toDocumentPart(node, [shared, message]))
    }
  }
  return pieces
}

function toDocumentPart(node: Json, parts: Json[]): DocumentPart {
  return { text: canonicalJson(parts), status: textOf(mapOf(node)['x-svc-implementation']) || 'implemented' }
}
