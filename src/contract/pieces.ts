// What a document is made of, piece by piece, each as text: so that a document can be held against another that has only some of them.
import { METHODS } from './diff-http.ts'
import { canonical, type Json, type JsonMap, mapOf, textOf } from './json.ts'

export interface Piece {
  readonly text: string
  /** `planned`, `partial` or `implemented`. */
  readonly status: string
}

/** The operations, each with what its path says of all. */
export function httpPieces(document: JsonMap): Map<string, Piece> {
  const pieces = new Map<string, Piece>()
  for (const [path, item] of Object.entries(mapOf(document.paths))) {
    const [operations, shared] = [mapOf(item), { ...mapOf(item) }]
    for (const method of METHODS) delete shared[method]
    for (const [method, node] of Object.entries(operations))
      if (METHODS.has(method)) pieces.set(`${method.toUpperCase()} ${path}`, pieceOf(node, [shared, node]))
  }
  return pieces
}

/** The messages, each with what its channel says of all. Examples are some of many: an envelope has those of its variants. */
export function socketPieces(document: JsonMap): Map<string, Piece> {
  const pieces = new Map<string, Piece>()
  for (const [name, channel] of Object.entries(mapOf(document.channels))) {
    const { messages, ...shared } = mapOf(channel)
    for (const [key, node] of Object.entries(mapOf(messages))) {
      const { examples: _examples, ...message } = mapOf(node)
      pieces.set(`channel ${name} message ${key}`, pieceOf(node, [shared, message]))
    }
  }
  return pieces
}

function pieceOf(node: Json, parts: Json[]): Piece {
  return { text: canonical(parts), status: textOf(mapOf(node)['x-svc-implementation']) || 'implemented' }
}
