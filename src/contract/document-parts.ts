// Splits a document into parts, each as text, for the comparison with a document that has only some of them.
import { HTTP_METHODS } from './diff/http-operations.ts'
import { canonicalJson, type Json, type JsonMap, mapOf, textOf } from './json.ts'

export interface DocumentPart {
  readonly text: string
  /** `planned`, `partial` or `implemented`. */
  readonly status: string
}

/** Returns the operations, each with the members of its path. */
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

/** Returns the messages, each with the members of its channel. Examples are left out, because an envelope has those of its variants. */
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
